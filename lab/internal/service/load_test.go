package service

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRepeatAtRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var asked atomic.Int64
		took, err := Repeat(t.Context(), 100, time.Second, func(context.Context) error {
			asked.Add(1)
			time.Sleep(3 * time.Millisecond)
			return nil
		})
		if err != nil || len(took) != 100 || asked.Load() != 100 {
			t.Errorf("100/s for a second: %d latencies of %d requests, %v; want 100", len(took), asked.Load(), err)
		}
		for _, d := range took {
			if d != 3*time.Millisecond {
				t.Fatalf("a request of 3ms took %v", d)
			}
		}
		if d := time.Since(begin); d > time.Second {
			t.Errorf("the load lasted %v, want a second at most", d)
		}
	})
}

// A request that is due while all clients wait counts from when it was due.
func TestRepeatBehindRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, err := Repeat(t.Context(), 1000, 200*time.Millisecond, func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		})
		if err != nil || len(took) != 200 {
			t.Fatalf("%d requests, %v; want 200", len(took), err)
		}
		longest := time.Duration(0)
		for _, d := range took {
			longest = max(longest, d)
		}
		// Each client answers one request a second: the last ones wait for their turn.
		if longest < 3*time.Second {
			t.Errorf("the longest latency is %v, want the time in the queue, too", longest)
		}
	})
}

func TestRepeatFails(t *testing.T) {
	_, err := Repeat(t.Context(), 0, time.Minute, func(context.Context) error { return errors.New("refused") })
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error is %v, want the request's", err)
	}
}

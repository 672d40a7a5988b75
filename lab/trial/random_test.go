package main

import (
	"testing"
	"time"
)

func TestLiveHeaps(t *testing.T) {
	const length = 100 * time.Second
	heap := func(of func(second int) uint64) []sample {
		var s []sample
		for i := range 100 {
			s = append(s, sample{at: time.Duration(i) * time.Second, heap: of(i)})
		}
		return s
	}
	for _, c := range []struct {
		name string
		of   []sample
		ok   bool
	}{
		{"flat", heap(func(int) uint64 { return 10 << 20 }), true},
		{"young at first", heap(func(i int) uint64 { return uint64(min(i, 25)) << 20 }), true},
		{"a full queue at the end", heap(func(i int) uint64 { return uint64(10+i/85*30) << 20 }), true},
		{"grows all the time", heap(func(i int) uint64 { return uint64(i) << 20 }), false},
		{"never looked at", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			second, last, err := liveHeaps(c.of, length)
			if (err == nil) != c.ok {
				t.Errorf("%d bytes in the second quarter and %d in the last: %v", second, last, err)
			}
		})
	}
}

func TestIdleGoroutines(t *testing.T) {
	const length = 100 * time.Second
	for _, c := range []struct {
		name string
		of   func(second int) int
		ok   bool
	}{
		{"flat, with requests under way", func(i int) int { return 20 + i%5*30 }, true},
		{"three more each ten seconds and never less", func(i int) int { return 20 + i/10*3 }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s []sample
			for i := range 100 {
				s = append(s, sample{at: time.Duration(i) * time.Second, goroutines: c.of(i)})
			}
			if second, last, err := idleGoroutines(s, length); (err == nil) != c.ok {
				t.Errorf("%d goroutines in the second quarter and %d in the last: %v", second, last, err)
			}
		})
	}
}

//go:build lab

package wall

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/cpushare"
	"github.com/perfline/perfline/profiling/profile"
)

// A goroutine that works at two things in turn and one that sleeps: each has samples for the time that passed.
func TestLabSamples(t *testing.T) { split(t, 100) }

// The samples of the two things stand for their parts of the time. On a busy machine the kernel may stop both the sampling
// goroutine and the working one, and the next function gets the time of both.
func TestLabSplit(t *testing.T) {
	cpushare.Check(t, func() error {
		// Of so many samples 0.06 are four standard deviations.
		got, want := split(t, 1000)
		t.Logf("share of work70: %.1f %% of samples, %.1f %% of time", got*100, want*100)
		if math.Abs(got-want) > 0.06 {
			return fmt.Errorf("share of work70: %.3f of samples' weight, %.3f of time: want them within 0.06", got, want)
		}
		return nil
	})
}

// split returns the share of work70 in the weight of so many samples, and in the time.
func split(t *testing.T, samples int) (ofSamples, ofTime float64) {
	t.Helper()
	var (
		stop      atomic.Bool
		wg        sync.WaitGroup
		long, all time.Duration
	)
	wake, slept := make(chan struct{}), make(chan struct{})
	wg.Go(func() { asleep(slept, wake) })
	wg.Go(func() {
		for !stop.Load() {
			// The length varies, so that ticks cannot be in step with it.
			unit := time.Duration(100+rand.IntN(200)) * time.Microsecond
			l := work70(7 * unit)
			long += l
			all += l + work30(3*unit)
		}
	})
	<-slept
	e := start(t, time.Millisecond)
	var began int64
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	var in70, in30, sleeping time.Duration
	var sleeps int
	for range samples {
		<-ticker.C
		for _, s := range tick(t, e) {
			if began == 0 {
				began = s.At - int64(time.Millisecond)
			}
			switch {
			case on(s, "work70"):
				in70 += s.Weight
			case on(s, "work30"):
				in30 += s.Weight
			case on(s, "asleep"):
				sleeping += s.Weight
				sleeps += s.Count
				if s.Marker != profile.Idle && s.Marker != profile.Ordinary { // running: not yet asleep
					t.Errorf("marker of a goroutine that waits: %v, want idle", s.Marker)
				}
			}
		}
	}
	stop.Store(true)
	close(wake)
	wg.Wait()
	elapsed := time.Duration(e.last - began)
	if sleeps != samples || sleeping != elapsed {
		t.Errorf("the goroutine that sleeps: Count %d, Weight %v; want %d and all of %v", sleeps, sleeping, samples, elapsed)
	}
	// Between two calls the one that works is in neither.
	if worked := in70 + in30; worked > elapsed || worked < elapsed*9/10 {
		t.Errorf("weight of the goroutine that works: %v, want nearly %v", worked, elapsed)
	}
	return float64(in70) / float64(in70+in30), float64(long) / float64(all)
}

//go:noinline
func work70(d time.Duration) time.Duration { return work(d) }

//go:noinline
func work30(d time.Duration) time.Duration { return work(d) }

func work(d time.Duration) time.Duration {
	began := time.Now()
	for time.Since(began) < d {
	}
	return time.Since(began)
}

//go:noinline
func asleep(slept chan<- struct{}, wake <-chan struct{}) {
	close(slept)
	<-wake
}

package profiling

import (
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

func TestAxis(t *testing.T) {
	const leap = 5 * time.Minute
	one := []reading{{now: 1000, at: 5000}}
	several := []reading{{now: 1000, at: 5000}, {now: 2000, at: 5000}, {now: 3000, at: 9000}, {now: 7000, at: 9000 + leap}}
	for _, tt := range []struct {
		name     string
		readings []reading
		now      int64
		want     time.Duration
	}{
		{"before the only reading", one, 400, 4400},
		{"at it", one, 1000, 5000},
		{"after it", one, 1700, 5700},
		{"before the first", several, 900, 4900},
		{"at the first", several, 1000, 5000},
		{"while the clock stands", several, 1500, 5000},
		{"at an inner one", several, 2000, 5000},
		{"while it runs faster", several, 2250, 6000},
		{"while it leaps", several, 5000, 9000 + leap/2},
		{"at the last", several, 7000, 9000 + leap},
		{"after the last", several, 7100, 9100 + leap},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := axis{readings: tt.readings}
			if got := a.at(tt.now); got != tt.want {
				t.Errorf("at(%d) = %d, want %d", tt.now, got, tt.want)
			}
		})
	}
}

// The real clock is read once: further readings would differ by the time that a reading takes.
func TestAxisOfTheRealClock(t *testing.T) {
	a := axis{timeline: observer.NewTimeline(observer.TimelineOptions{})}
	for range 3 {
		a.read()
	}
	if len(a.readings) != 1 {
		t.Errorf("%d readings, want 1", len(a.readings))
	}
}

// A clock that goes backwards does not put samples out of order.
func TestAxisOfAClockThatGoesBack(t *testing.T) {
	times := []time.Duration{time.Second, 2 * time.Second, time.Second, 3 * time.Second}
	n := 0
	a := axis{timeline: observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { n++; return times[n-1] }})}
	before := sampling.Now()
	for range times {
		a.read()
	}
	last, after := a.at(before), sampling.Now()
	for now := before; now <= after; now += max(1, (after-before)/1000) {
		at := a.at(now)
		if at < last {
			t.Fatalf("time %v comes after %v", at, last)
		}
		last = at
	}
}

package profiling

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/profile"
)

// An axis converts times of [sampling.Now] to times of a timeline. One reading of both clocks is
// enough, because they differ by a constant, unless the timeline has its own clock. Such a clock is
// the program's code, which the hub's goroutine must not call: Start, TakeTrace, ForceSample and
// Stop read the clock on their callers' goroutines. Times between two readings are interpolated.
type axis struct {
	timeline *observer.Timeline

	mu       sync.Mutex // guards readings
	readings []reading
}

// A reading is one moment on both clocks.
type reading struct {
	now int64
	at  time.Duration
}

// Between the two clocks, the system may stop the thread, and the reading is off by half of the
// time in between. So a reading is one of several attempts: the first within closeReading, or else
// the best.
const (
	closeReading = time.Microsecond
	attempts     = 10
)

// read takes a reading. On a timeline without its own clock only the first call does.
func (a *axis) read() {
	own := (*record.Timeline)(a.timeline).HasClock()
	a.mu.Lock()
	enough := len(a.readings) > 0 && !own
	a.mu.Unlock()
	if enough {
		return
	}
	var r reading
	for i, best := 0, int64(math.MaxInt64); i < attempts && best > int64(closeReading); i++ {
		before := sampling.Now()
		at := a.timeline.Now()
		if took := sampling.Now() - before; took < best {
			r, best = reading{before + took/2, at}, took
		}
		if own { // the program's clock may count the calls
			break
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := len(a.readings); n == 0 || r.now > a.readings[n-1].now && r.at >= a.readings[n-1].at {
		a.readings = append(a.readings, r)
	}
}

// at converts now. Before the first reading and after the last one, both clocks run at the same
// rate. a.mu is held.
func (a *axis) at(now int64) time.Duration {
	i, _ := slices.BinarySearchFunc(a.readings, now,
		func(r reading, now int64) int { return cmp.Compare(r.now, now) })
	if i == 0 || i == len(a.readings) {
		r := a.readings[max(i-1, 0)]
		return r.at + time.Duration(now-r.now)
	}
	from, to := a.readings[i-1], a.readings[i]
	return from.at + time.Duration(
		float64(to.at-from.at)*(float64(now-from.now)/float64(to.now-from.now)))
}

// convert returns t with its times converted to the timeline.
func (a *axis) convert(t *profile.Trace) *profile.Trace {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range t.Samples {
		s := &t.Samples[i]
		s.Timestamp = a.at(int64(s.Timestamp))
	}
	t.Started, t.Stopped = a.at(int64(t.Started)), a.at(int64(t.Stopped))
	t.Origin = a.timeline.Origin()
	return t
}

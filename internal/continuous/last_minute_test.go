package continuous_test

import (
	"bytes"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/profiling/profile"
)

// A ticker has as many samples a trace as it says, each one step before the next. The last one is at the end of the trace.
type ticker struct {
	profiler
	began   time.Time
	samples int
	step    time.Duration
}

func (p *ticker) TakeTrace() (*profile.Trace, error) {
	now := time.Since(p.began)
	t := &profile.Trace{
		Frames: []profile.Frame{{Name: "main.f", ResourceID: profile.None}}, Stacks: []profile.Stack{{FrameID: 0, ParentID: profile.None}},
		Samples: make([]profile.Sample, p.samples), Started: now - time.Duration(p.samples)*p.step, Stopped: now,
	}
	for i := range t.Samples {
		t.Samples[i] = profile.Sample{ContextID: profile.None, Count: 1, Weight: time.Millisecond, Timestamp: now - time.Duration(p.samples-1-i)*p.step}
	}
	return t, nil
}

func (p *ticker) Stop() (*profile.Trace, error) { return p.TakeTrace() }

func startTicker(t *testing.T, interval time.Duration, samples int) *continuous.Source {
	t.Helper()
	p := &ticker{began: time.Now(), samples: samples, step: 100 * time.Millisecond}
	return p.start(t, interval)
}

func (p *ticker) start(t *testing.T, interval time.Duration) *continuous.Source {
	t.Helper()
	source, err := continuous.Start(continuous.Config{
		Interval: interval, Sinks: []continuous.Sink{&sink{}}, Logger: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)),
		Process: continuous.Process{Now: time.Now, Clock: func() time.Duration { return time.Since(p.began) }, Spent: free, Profiler: func(func()) (continuous.Profiler, error) { return p, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// The source holds the samples of a minute, and only while calls of LastMinute come.
func TestLastMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := startTicker(t, 15*time.Second, 150)
		time.Sleep(31 * time.Second)
		if n := len(source.LastMinute().Samples); n != 0 {
			t.Errorf("the first call has %d samples of the time before, want none", n)
		}
		time.Sleep(15 * time.Second) // a profile at 45 s
		got := source.LastMinute()
		if len(got.Samples) != 150 || got.Started != 30*time.Second || got.Stopped != 45*time.Second {
			t.Errorf("after 15 s: %d samples from %v to %v", len(got.Samples), got.Started, got.Stopped)
		}
		time.Sleep(64 * time.Second) // at 110 s: profiles at 60 s to 105 s
		if got = source.LastMinute(); len(got.Samples) != 4*150-50+1 || got.Started != 50*time.Second {
			t.Errorf("after a minute: %d samples from %v to %v", len(got.Samples), got.Started, got.Stopped)
		}
		time.Sleep(6 * time.Minute) // for which nothing asks
		if n := len(source.LastMinute().Samples); n != 0 {
			t.Errorf("%d samples were held though no call came for six minutes", n)
		}
		time.Sleep(15 * time.Second)
		if n := len(source.LastMinute().Samples); n != 150 {
			t.Errorf("15 s after the next call there are %d samples, want 150", n)
		}
		if err := source.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A profile of a longer time has a part that is older than a minute.
func TestLastMinuteOfLongProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := startTicker(t, 3*time.Minute, 1800)
		source.LastMinute()
		time.Sleep(3*time.Minute + 20*time.Second)
		got := source.LastMinute()
		if len(got.Samples) != 400+1 || got.Started != 140*time.Second || got.Samples[0].Timestamp < got.Started {
			t.Errorf("%d samples from %v, want the last 40 s of the profile", len(got.Samples), got.Started)
		}
		if err := source.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The newest samples of a profile stay in memory if it has more than there is room for.
func TestLastMinuteOfLargeProfile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 18
		p := &ticker{began: time.Now(), samples: most + 1000, step: 10 * time.Microsecond}
		source := p.start(t, 15*time.Second)
		source.LastMinute()
		time.Sleep(16 * time.Second)
		got := source.LastMinute()
		if n := len(got.Samples); n != most {
			t.Fatalf("%d samples are in memory, want %d", n, most)
		}
		if last := got.Samples[most-1].Timestamp; last != 15*time.Second || got.Started != got.Samples[0].Timestamp {
			t.Errorf("the samples from %v to %v are in memory, and the trace started at %v: want the newest ones", got.Samples[0].Timestamp, last, got.Started)
		}
		if err := source.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// The number of samples in memory has a bound.
func TestLastMinuteIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 1 << 18
		source := startTicker(t, time.Second, most/2)
		source.LastMinute()
		time.Sleep(3500 * time.Millisecond)
		if n := len(source.LastMinute().Samples); n > most || n == 0 {
			t.Errorf("%d samples are in memory, want at most %d", n, most)
		}
		if err := source.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

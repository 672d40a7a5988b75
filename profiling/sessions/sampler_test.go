package sessions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// A sampler gets the options of the session, or else those of the recorder.
func TestOptionsOfTheSampler(t *testing.T) {
	for name, c := range map[string]struct {
		config sessions.Config
		start  sessions.StartOptions
		want   profiling.Options
	}{
		"defaults":       {sessions.Config{}, sessions.StartOptions{}, profiling.Options{SampleInterval: 10 * ms, MaxBufferSize: 200_000}},
		"negative":       {sessions.Config{SampleInterval: -1, MaxSamples: -1}, sessions.StartOptions{}, profiling.Options{SampleInterval: 10 * ms, MaxBufferSize: 200_000}},
		"the recorder's": {sessions.Config{SampleInterval: 30 * ms, MaxSamples: 7}, sessions.StartOptions{}, profiling.Options{SampleInterval: 30 * ms, MaxBufferSize: 7}},
		"the session's":  {sessions.Config{SampleInterval: 30 * ms}, sessions.StartOptions{SampleInterval: 20 * ms, Wall: true}, profiling.Options{SampleInterval: 20 * ms, MaxBufferSize: 200_000, Wall: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, c.config)
			player := s.play()
			s.stop(s.start(c.start))
			got := player().o
			if got.SampleInterval != c.want.SampleInterval || got.MaxBufferSize != c.want.MaxBufferSize || got.Wall != c.want.Wall || got.Spans != profiling.EverySpan {
				t.Errorf("got %+v, want %+v, and every span", got, c.want)
			}
		})
	}
}

// The status and the trace say which sampler it was. The cost of one by the wall clock is unknown.
func TestWall(t *testing.T) {
	s := open(t, sessions.Config{})
	s.play()
	id := s.start(sessions.StartOptions{Wall: true})
	if st := s.Statuses()[0]; !st.Wall || st.Sampler != "wall, started" {
		t.Errorf("status is %+v", st)
	}
	if tr := s.stop(id).Trace(); tr == nil || tr.Engine != "wall" || tr.Stats.SampleCost != 0 {
		t.Errorf("trace is %+v", tr)
	}
}

// A session goes on without samples when it has MaxSamples.
func TestMaxSamples(t *testing.T) {
	const most = 100
	s := open(t, sessions.Config{MaxSamples: most})
	player := s.play()
	id := s.start(sessions.StartOptions{})
	player().sample(most - 1)
	if st := s.Statuses()[0]; st.Sampler != "cpu, started" || st.Samples != most-1 {
		t.Errorf("status is %+v", st)
	}
	player().sample(2)
	if st := s.Statuses()[0]; st.Sampler != "cpu, stopped" {
		t.Errorf("status is %+v", st)
	}
	marks.Mark(s.ctx, "later")
	got := s.stop(id)
	if st := got.Stats(); !st.SamplesFull || st.Samples != most {
		t.Errorf("%+v", st)
	}
	if want := "later"; !strings.Contains(eventsOf(got), want) {
		t.Errorf("events are %q", eventsOf(got))
	}
	if st := s.stop(s.start(entriesOnly)).Stats(); st.SamplesFull || st.Samples != 0 {
		t.Errorf("without samples: %+v", st)
	}
}

// A session has all samples until the stop. Those of EngineWindow have the time at which their profile
// ended, which is after the stop; a later sample of another engine is not the session's.
func TestSamplesUntilTheStop(t *testing.T) {
	for engine, want := range map[profile.Engine]int{profile.EngineCPU: 2, profile.EngineWindow: 3} {
		t.Run(string(engine), func(t *testing.T) {
			s := open(t, sessions.Config{})
			player := s.play()
			id := s.start(sessions.StartOptions{})
			p := player()
			p.sample(2)
			p.engine = engine
			p.part = append(p.part, profile.Sample{Timestamp: s.tl.Now() + time.Hour, ContextID: profile.None, Count: 1, Weight: 10 * ms})
			got := s.stop(id)
			if n := len(got.Trace().Samples); n != want || got.Stats().Samples != uint64(want) {
				t.Errorf("%d samples, counted as %d, want %d", n, got.Stats().Samples, want)
			}
			for _, sample := range got.Trace().Samples {
				if at := got.Since(sample); at < 0 || at > got.Length() {
					t.Errorf("a sample at %v of %v", at, got.Length())
				}
			}
		})
	}
}

// A session that has no samples because other code had the CPU profiler has all else, and gives the reason.
func TestProfilerInUseElsewhere(t *testing.T) {
	s := open(t, sessions.Config{})
	player := s.play()
	id := s.start(sessions.StartOptions{})
	player().busy = true
	marks.Mark(s.ctx, "m")
	got := s.stop(id)
	if st := got.Stats(); st.Samples != 0 || st.Profiling.BusyGaps != 1 || st.Profiling.BusyTime <= 0 || eventsOf(got) != "m" {
		t.Errorf("stats are %+v, events %q; want no samples, how long the profiler was in use, and the mark", st, eventsOf(got))
	}
	for _, status := range s.Statuses() {
		if !strings.Contains(status.Sampler, ", stopped: ") || !strings.Contains(status.Sampler, profiling.ErrBusy.Error()) {
			t.Errorf("the sampler is %q, want its state and why there are no samples", status.Sampler)
		}
	}
}

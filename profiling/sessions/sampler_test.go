package sessions_test

import (
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// The cost of a sampler by the wall clock is unknown.
func TestWall(t *testing.T) {
	s := open(t, sessions.Config{})
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
	const most = 100 // of several ticks: the first may come before all else is ready, and the session begins
	s := open(t, sessions.Config{MaxSamples: most})
	id := s.start(sessions.StartOptions{Wall: true}) // which sees this goroutine whatever it does
	for st, err := range s.Watch(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
		if st.Sampler == "wall, stopped" {
			break
		}
	}
	marks.Mark(s.ctx, "later")
	got := s.stop(id)
	if st := got.Stats(); !st.SamplesFull || st.Samples == 0 || st.Samples > most {
		t.Errorf("%+v", st)
	}
	if want := "later"; !strings.Contains(eventsOf(got), want) {
		t.Errorf("events are %q", eventsOf(got))
	}
	if st := s.stop(s.start(entriesOnly)).Stats(); st.SamplesFull || st.Samples != 0 {
		t.Errorf("without samples: %+v", st)
	}
}

// A session has all samples until the stop, also if they have the time of a profile that ended later.
func TestSamplesUntilTheStop(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(sessions.StartOptions{})
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
	}
	got := s.stop(id)
	st, tr := got.Stats(), got.Trace()
	if st.Samples == 0 || tr.Engine == profile.EngineWindow && st.Samples != st.Profiling.Samples {
		t.Errorf("%s: %d samples of %d", tr.Engine, st.Samples, st.Profiling.Samples)
	}
	for _, sample := range tr.Samples {
		if at := got.Since(sample); at < 0 || at > got.Length() {
			t.Errorf("a sample at %v of %v", at, got.Length())
		}
	}
}

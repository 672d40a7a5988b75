package sessions_test

import (
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// Overhead is what only the session wants: not what is recorded for spans anyway, nor for other observers (SP-12).
func TestOverhead_SP12(t *testing.T) {
	for _, c := range []struct {
		name    string
		sampler sdktrace.Sampler
		others  bool
		want    bool
	}{
		{"of spans that are sampled", sdktrace.AlwaysSample(), false, false},
		{"of spans that are not", sdktrace.NeverSample(), false, true},
		{"of what somebody else observes", sdktrace.NeverSample(), true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := build(t, false, c.sampler)
			if c.others {
				obs, err := s.tl.Observe(func(observer.List) {}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
				if err != nil {
					t.Fatal(err)
				}
				defer obs.Disconnect()
			}
			id := s.start(entriesOnly)
			ctx, span := s.provider.Tracer("t").Start(observer.NewContext(s.ctx, s.tl.NewChild()), "root")
			in, m := marks.Start(ctx, "outer")
			for range 10 {
				marks.Time(in, "inner").End()
			}
			m.End()
			span.End()
			for _, tl := range s.stop(id).Timelines() {
				if tl.Name != "gc" && tl.AggregatedOverhead > 0 != c.want {
					t.Errorf("%+v", tl)
				}
			}
		})
	}
}

// What a sampler of the wall's clock costs is not known; it is another engine.
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

// What was sampled until the stop is in the session, also where samples have the time of a
// profile that ended later.
func TestSamplesUntilTheStop(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(sessions.StartOptions{})
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
	}
	got := s.stop(id)
	st, tr := got.Stats(), got.Trace()
	if st.Samples == 0 || tr.Engine == "window" && st.Samples != st.Profiling.Samples {
		t.Errorf("%s: %d samples of %d", tr.Engine, st.Samples, st.Profiling.Samples)
	}
	for _, sample := range tr.Samples {
		if at := got.Since(sample); at < 0 || at > got.Length() {
			t.Errorf("a sample at %v of %v", at, got.Length())
		}
	}
}

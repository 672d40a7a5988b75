package sessions_test

import (
	"strings"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// Overhead is what only the session wants: not what is recorded for spans anyway, nor for other observers (SP-12).
func TestOverhead_SP12(t *testing.T) {
	for _, provider := range []string{own, sdk} {
		for _, c := range []struct {
			name    string
			sampler sdktrace.Sampler
			on      string
			others  bool
			want    bool
		}{
			{"of a request whose spans are sampled", sdktrace.AlwaysSample(), "request", false, false},
			{"of a request whose spans are not", sdktrace.NeverSample(), "request", false, true},
			{"of a job whose spans are sampled", sdktrace.AlwaysSample(), "process", false, false},
			{"of a job whose spans are not", sdktrace.NeverSample(), "process", false, true},
			{"of what is under no span", sdktrace.NeverSample(), "no span", false, false}, // the timeline keeps it
			{"of what somebody else observes", sdktrace.NeverSample(), "request", true, false},
			{"of what Server-Timing wants", sdktrace.NeverSample(), "kept", false, false},
		} {
			t.Run(provider+" "+c.name, func(t *testing.T) {
				s := build(t, provider, c.sampler)
				if c.others {
					obs, err := s.tl.Observe(func(observer.List) {}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
					if err != nil {
						t.Fatal(err)
					}
					defer obs.Disconnect()
				}
				id := s.start(entriesOnly)
				ctx, end := s.ctx, func() {}
				switch c.on {
				case "request", "no span", "kept":
					ctx = observer.NewContext(ctx, s.tl.NewChild())
				}
				if c.on != "no span" {
					var span trace.Span
					ctx, span = s.provider.Tracer("t").Start(ctx, "root")
					if c.on == "kept" {
						observer.FromContext(ctx).Keep(observer.Measure) // as the middleware does
					}
					end = func() { span.End() }
				}
				outer := marks.Time(ctx, "outer")
				for range 10 {
					marks.Time(ctx, "inner").End()
				}
				outer.End()
				end()
				for _, tl := range s.stop(id).Timelines() {
					if tl.Name != "gc" && tl.AggregatedOverhead > 0 != c.want {
						t.Errorf("%+v", tl)
					}
				}
			})
		}
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

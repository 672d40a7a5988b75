package sessions

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
)

// waiting is a session that waits for a request to GET /search.
func waiting(t *testing.T, samples bool) (*Recorder, *run) {
	return run1(t, Config{MaxSamples: maxSamples}, StartOptions{Route: "GET /search", NoSamples: !samples})
}

const maxSamples = 20

// run1 is a recorder's first session.
func run1(t *testing.T, c Config, o StartOptions) (*Recorder, *run) {
	t.Helper()
	c.Timeline, c.Logger = observer.NewTimeline(observer.TimelineOptions{}), slog.New(slog.DiscardHandler)
	r := NewRecorder(c)
	t.Cleanup(r.Close)
	id, err := r.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r, r.runs[id]
}

func mark(tl *observer.Timeline, name string) {
	tl.Record(observer.Mark, name, tl.Now(), 0, nil)
}

func search(tl *observer.Timeline) {
	tl.Record(observer.Navigation, "/search", 0, tl.Now(), []slog.Attr{slog.String("method", "GET"), slog.String("route", "/search")})
}

func (s *run) pass() {
	s.tl.Deliver()
	s.forget()
}

// inTrace says where an entry that is a span belongs.
var inTrace = observer.SpanIDs{Trace: [16]byte{1}, Self: observer.ID{2}}

// What is recorded is forgotten at the second look after it, so that a request keeps what it
// needs (SP-25).
func TestForget_SP25(t *testing.T) {
	r, s := waiting(t, false)
	mark(s.tl, "long ago")
	s.pass()
	other, child, unended := s.tl.NewChild(), s.tl.NewChild(), s.tl.NewChild()
	mark(child, "too long ago")
	s.pass()
	mark(child, "first")
	other.Show(inTrace, observer.Description{Type: observer.Navigation, Name: "/other", Start: other.Origin(), End: time.Now()})
	mark(unended, "unended")
	s.pass()
	mark(child, "second")
	mark(other, "late")
	mark(unended, "still")
	search(child)
	s.tl.Deliver()
	s.pass() // which is not the time to forget any more
	s.pass()
	got, err := r.Stop(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, tl := range got.Timelines() {
		if tl.Name == "gc" {
			continue
		}
		all = append(all, tl.Title()+":")
		if tl.Name == "/other" && (tl.TraceID != inTrace.Trace || tl.SpanID != trace.SpanID(inTrace.Self)) {
			t.Errorf("it forgot the spans of %+v", tl)
		}
		for e := range got.All(tl.ID) {
			all = append(all, e.Name)
		}
	}
	if got := strings.Join(all, " "); got != "/other: /other late GET /search: GET /search first second request: unended still" {
		t.Errorf("got %q", got)
	}
}

// Samples are kept as long as entries are.
func TestForgetSamples_SP25(t *testing.T) {
	r, s := waiting(t, true)
	s.pass()
	profiling.ForceSample()
	child := s.tl.NewChild()
	profiling.ForceSample()
	s.pass()
	passed := s.tl.Origin().Add(s.tl.Now())
	profiling.ForceSample()
	search(child)
	got, err := r.Stop(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	before, after := 0, 0
	for _, sample := range got.Trace().Samples {
		at := got.Since(sample)
		if at < 0 || at > got.Length() {
			t.Errorf("a sample of %v in a session of %v", at, got.Length())
		}
		if at < passed.Sub(got.Started()) {
			before++
		} else {
			after++
		}
	}
	if before == 0 || after == 0 || got.Stats().Samples != uint64(before+after) {
		t.Errorf("%d samples before older ones were forgotten, %d afterwards, %d counted", before, after, got.Stats().Samples)
	}
}

// Each sample is there once, also when the sampler's buffer is full before the request comes.
func TestForgetFullSampler_SP25(t *testing.T) {
	for _, c := range []struct {
		name     string
		pass     func(*run)
		min, max int
	}{
		{"full when it is looked at", (*run).pass, maxSamples + 1, 2*maxSamples - 1}, // with those of before
		{"full while it is looked at", func(s *run) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.before, _ = s.sampler.Stop()
		}, 1, maxSamples},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, s := waiting(t, true)
			child := s.tl.NewChild()
			takeUntil(t, s.sampler, child.Origin().Add(time.Millisecond)) // what was sampled before the request is not the session's
			profiling.ForceSample()
			s.pass()
			for range 1000 {
				if profiling.ForceSample(); s.sampler.Stopped() {
					break
				}
			}
			if !s.sampler.Stopped() {
				t.Skip("nothing is sampled here")
			}
			c.pass(s)
			search(child)
			got, err := r.Stop(t.Context(), s.id)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(got.Trace().Samples); n < c.min || n > c.max || got.Stats().Samples != uint64(n) || got.Stats().Profiling.Samples != uint64(n) {
				t.Errorf("%d samples, want %d to %d; %+v", n, c.min, c.max, got.Stats())
			}
		})
	}
}

// takeUntil takes samples until one was taken after the moment at. All later ones are, too: samples come in order.
func takeUntil(t *testing.T, p *profiling.Profiler, at time.Time) {
	t.Helper()
	for range 1000 {
		profiling.ForceSample()
		trace, err := p.TakeTrace()
		if err != nil {
			t.Fatal(err)
		}
		if n := len(trace.Samples); n > 0 && trace.Origin.Add(trace.Samples[n-1].Timestamp).After(at) {
			return
		}
	}
}

// Readings of the CPU's time are kept as long as entries are.
func TestForgetReadings_SP25(t *testing.T) {
	_, s := waiting(t, false)
	s.mu.Lock()
	s.cpu = make([]reading, 1000)
	last := reading{at: 1, used: 2}
	s.cpu = append(s.cpu, last)
	s.mu.Unlock()
	s.forget()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.cpu); time.Duration(n)*tendEvery < 2*lookBack || n > 300 || !slices.Contains(s.cpu, last) {
		t.Errorf("%d readings are left", n)
	}
}

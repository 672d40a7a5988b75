package sessions

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
)

// waiting is a session that waits for a request to GET /search.
func waiting(t *testing.T, samples bool) (*Recorder, *run) {
	r := NewRecorder(Config{Timeline: observer.NewTimeline(observer.TimelineOptions{}), Logger: slog.New(slog.DiscardHandler), SampleInterval: time.Nanosecond})
	t.Cleanup(r.Close)
	id, err := r.Start(t.Context(), StartOptions{Route: "GET /search", NoSamples: !samples})
	if err != nil {
		t.Fatal(err)
	}
	return r, r.runs[id]
}

func mark(tl *observer.Timeline, name string) {
	tl.Record(nil, observer.Mark, name, tl.Now(), 0, nil)
}

func search(tl *observer.Timeline) {
	tl.Record(nil, observer.Navigation, "/search", 0, tl.Now(), []slog.Attr{slog.String("method", "GET"), slog.String("route", "/search")})
}

func (s *run) pass() {
	s.tl.Deliver()
	s.forget()
}

// What is recorded is forgotten at the second look after it, so that a request keeps what it
// needs (SP-25).
func TestForget_SP25(t *testing.T) {
	r, s := waiting(t, false)
	mark(s.tl, "long ago")
	s.pass()
	other, child := s.tl.NewChild(), s.tl.NewChild()
	mark(child, "too long ago")
	s.pass()
	mark(child, "first")
	mark(other, "other")
	s.pass()
	mark(child, "second")
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
		all = append(all, tl.Name+":")
		for e := range got.All(tl.ID) {
			all = append(all, e.Name)
		}
	}
	if got := strings.Join(all, " "); got != "GET /search: GET /search first second request: other" {
		t.Errorf("got %q", got)
	}
}

// Samples are kept as long as entries are.
func TestForgetSamples_SP25(t *testing.T) {
	r, s := waiting(t, true)
	burn := func(samples uint64) {
		for deadline := time.Now().Add(20 * time.Second); s.sampler.Stats().Samples < samples; {
			if time.Now().After(deadline) {
				t.Skip("the sampler gives no samples here")
			}
		}
	}
	burn(1)
	s.pass()
	child := s.tl.NewChild()
	burn(3)
	s.pass()
	burn(3)
	search(child)
	got, err := r.Stop(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	if n := got.Stats().Samples; n < 5 || len(got.Trace().Samples) != int(n) {
		t.Errorf("%d samples, %d in the trace, want 6 or so", n, len(got.Trace().Samples))
	}
	for _, sample := range got.Trace().Samples {
		if at := got.Since(sample); at < 0 || at > got.Length() {
			t.Errorf("a sample of %v in a session of %v", at, got.Length())
		}
	}
}

package sessions_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/profiling/sessions"
)

// A session that waits forgets what ended a minute ago, and keeps what ended in the last half minute, so that a
// request has what belongs to it (SP-25).
func TestForget_SP25(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{})
		id := s.start(toSearch)
		other, search, unended := s.arrive(), s.arrive(), s.arrive()
		search.mark("long ago")
		s.tl.Deliver()
		time.Sleep(61 * time.Second)
		search.mark("first")
		inTrace := record.SpanIDs{Trace: [16]byte{1}, Self: record.ID{2}}
		(*record.Timeline)(other.tl).Show(inTrace, record.Description{Type: record.Navigation, Name: "/other", Start: other.tl.Origin(), End: time.Now()})
		unended.mark("in unended")
		s.tl.Deliver()
		time.Sleep(29*time.Second + 500*ms)
		search.mark("second")
		other.mark("late")
		search.leave("/search")
		s.tl.Deliver()
		time.Sleep(2 * time.Minute) // nothing is forgotten now
		got := s.stop(id)
		var all []string
		for _, tl := range got.Timelines() {
			all = append(all, tl.Title()+":")
			if tl.Name == "/other" && (tl.TraceID != inTrace.Trace || tl.SpanID != trace.SpanID(inTrace.Self)) {
				t.Errorf("the spans of %+v are forgotten", tl)
			}
			for e := range got.All(tl.ID) {
				all = append(all, e.Name)
			}
		}
		if got := strings.Join(all, " "); got != "/other: /other late GET /search: GET /search first second request: in unended" {
			t.Errorf("got %q", got)
		}
		s.Close()
	})
}

// Readings of the CPU time are kept as long as entries are.
func TestForgetReadings_SP25(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sessions.Config{})
		id := s.start(toSearch)
		time.Sleep(5*time.Minute + time.Second)
		if n := s.Readings(id); n == 0 {
			t.Log("the system does not tell the CPU time")
		} else if n < 60*4 || n > 91*4 {
			t.Errorf("%d readings after five minutes, want those of the last minute and up to half a minute more", n)
		}
		s.Close()
	})
}

const maxSamples = 20

var toSampledSearch = sessions.StartOptions{Route: "GET /search"}

// Samples are kept as long as entries are.
func TestForgetSamples_SP25(t *testing.T) {
	s := open(t, sessions.Config{MaxSamples: maxSamples})
	player := s.play()
	id := s.start(toSampledSearch)
	player().sample(4) // which are forgotten
	s.Forget(id)
	player().sample(1)
	search := s.arrive()
	player().sample(2)
	s.Forget(id)
	player().sample(3)
	search.leave("/search")
	got := s.stop(id)
	for _, sample := range got.Trace().Samples {
		if at := got.Since(sample); at < 0 || at > got.Length() {
			t.Errorf("a sample of %v in a session of %v", at, got.Length())
		}
	}
	if n := len(got.Trace().Samples); n != 5 || got.Stats().Samples != 5 {
		t.Errorf("%d samples, counted as %d, want the 5 since the request came", n, got.Stats().Samples)
	}
}

// A session has each sample once, also when the sampler's buffer is full before the request comes.
func TestForgetFullSampler_SP25(t *testing.T) {
	for _, c := range []struct {
		name   string
		forget func(*studio, sessions.SessionID)
		want   int
	}{
		{"before it forgets", func(s *studio, id sessions.SessionID) { s.Forget(id) }, 3 + maxSamples}, // with the samples of before
		{"while it forgets", func(s *studio, id sessions.SessionID) { s.ForgetWhenFull(id) }, maxSamples},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, sessions.Config{MaxSamples: maxSamples})
			player := s.play()
			id := s.start(toSampledSearch)
			search := s.arrive()
			player().sample(3)
			s.Forget(id)
			player().sample(maxSamples + 5)
			c.forget(s, id)
			search.leave("/search")
			got := s.stop(id)
			if n := len(got.Trace().Samples); n != c.want || got.Stats().Samples != uint64(n) {
				t.Errorf("%d samples, want %d; %+v", n, c.want, got.Stats())
			}
		})
	}
}

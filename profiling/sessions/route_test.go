package sessions_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

var toSearch = sessions.StartOptions{Route: "GET /search", NoSamples: true}

// A visit is a request as the timeline sees it: its entry comes at its end.
type visit struct {
	tl    *observer.Timeline
	began time.Duration // on the process's timeline
}

func (s *studio) arrive() visit {
	v := visit{tl: s.tl.NewChild()}
	v.began = s.tl.Since(v.tl.Origin())
	return v
}

func (v visit) mark(name string) {
	(*record.Timeline)(v.tl).Record(record.Mark, name, v.tl.Now(), 0, nil)
}

func (v visit) leave(route string) {
	(*record.Timeline)(v.tl).Record(record.Navigation, "/path", 0, v.tl.Now(), []slog.Attr{slog.String("method", "GET"), slog.String("route", route)})
	v.tl.Close()
}

// With a route a session waits, and begins with the arrival of the next request to it.
func TestRoute_SP25(t *testing.T) {
	s := open(t, sessions.Config{})
	earlier := s.arrive()
	id := s.start(toSearch)
	wantState := func(want sessions.State) {
		t.Helper()
		s.tl.Deliver()
		if got := s.state(id); got != want {
			t.Fatalf("state is %q, want %q", got, want)
		}
	}
	if st := s.Statuses()[0]; st.Route != toSearch.Route {
		t.Errorf("status is %+v", st)
	}
	wantState(sessions.Waiting)
	marks.Mark(s.ctx, "before")
	earlier.leave("/search")
	wantState(sessions.Waiting) // that request was under way
	other := s.arrive()
	other.mark("in other")
	other.leave("/other")
	wantState(sessions.Waiting)
	around := s.arrive()
	search := s.arrive()
	search.mark("in search")
	marks.Mark(s.ctx, "meanwhile")
	search.leave("/search")
	wantState(sessions.InProgress)
	_, err := s.Start(s.ctx, entriesOnly)
	wantErr(t, err, sessions.ErrInProgress)
	marks.Mark(s.ctx, "after")
	around.leave("/around")
	got := s.stop(id)
	if want := "meanwhile after GET /around GET /search in search"; eventsOf(got) != want {
		t.Errorf("events are %q, want %q", eventsOf(got), want)
	}
	if began := s.tl.Since(got.Started()); began != search.began {
		t.Errorf("SP-8: it began at %v, the request at %v", began, search.began)
	}
	for _, tl := range got.Timelines() {
		if tl.Name == "GET /search" && tl.Interval.Start != 0 {
			t.Errorf("SP-8: the request began at %v", tl.Interval.Start)
		}
	}
}

func TestRouteThatNobodyVisits_SP25(t *testing.T) {
	s := open(t, sessions.Config{})
	id := s.start(toSearch)
	marks.Mark(s.ctx, "m")
	got := s.stop(id)
	if got.Length() != 0 || eventsOf(got) != "" {
		t.Errorf("%v long, with %q", got.Length(), eventsOf(got))
	}
}

// Entries from before the request take no room from later ones, and are not counted.
func TestRouteMaxEvents_SP25(t *testing.T) {
	for _, c := range []struct {
		name                  string
		before, during, after int
		want                  sessions.Stats
	}{
		{"before", 9, 0, 5, sessions.Stats{Entries: 6}},
		{"up to the end", 19, 4, 8, sessions.Stats{Entries: 10, Dropped: 3}},
		{"the request has more", 0, 15, 3, sessions.Stats{Entries: 16, Dropped: 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // where nothing collects garbage
				s := open(t, sessions.Config{MaxEvents: 10})
				id := s.start(toSearch)
				for range c.before {
					marks.Mark(s.ctx, "before")
				}
				time.Sleep(ms)
				search := s.arrive()
				for range c.during {
					search.mark("m")
				}
				s.tl.Deliver() // the request comes in a pass of its own: in one it would be before what it did
				search.leave("/search")
				s.tl.Deliver()
				for range c.after {
					marks.Mark(s.ctx, "after")
				}
				s.tl.Deliver()
				st := s.Statuses()[0]
				got := s.stop(id).Stats()
				if got.Entries != c.want.Entries || got.Dropped != c.want.Dropped || st.Entries != c.want.Entries || st.Dropped != c.want.Dropped {
					t.Errorf("got %+v, want %+v; the status was %+v", got, c.want, st)
				}
				s.Close()
			})
		})
	}
}

// A session that waits in a busy program forgets early rather than miss the request.
func TestRouteInABusyProgram_SP25(t *testing.T) {
	s := open(t, sessions.Config{MaxEvents: 10})
	id := s.start(toSearch)
	for range 35 {
		marks.Mark(s.ctx, "m")
	}
	search := s.arrive()
	search.mark("in search")
	search.leave("/search")
	if got := eventsOf(s.stop(id)); got != "GET /search in search" {
		t.Errorf("events are %q", got)
	}
}

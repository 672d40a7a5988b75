package sessions_test

import (
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// example is a request with a query, two measures of one name, and two moments.
func example(t *testing.T) *sessions.Session {
	p := newTape(t)
	child := p.NewChild()
	p.add(child, of{1, 2, 1}, observer.Resource, "query", 10*ms, 30*ms, slog.String("sql", "select"))
	p.add(child, of{1, 0, 1}, observer.Measure, "render", 40*ms, 50*ms)
	p.add(child, of{1, 0, 3}, observer.Mark, "miss", 65*ms, 65*ms)
	p.add(child, of{1, 3, 1}, observer.Measure, "render", 60*ms, 80*ms)
	p.add(child, of{1, 0, 1}, observer.Mark, "done", 100*ms, 100*ms)
	p.add(child, of{1, 1, 0}, observer.Navigation, "/", 0, 100*ms, slog.String("method", "GET"), slog.String("route", "/{$}"))
	return p.session(nil)
}

// 1 GET /{$}, 2 query, 3 render, 4 render, 5 miss, 6 done.
func TestQueries(t *testing.T) {
	s := example(t)
	at := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		name, want string
		q          sessions.Query
	}{
		{"SP-16 no mode is all", "GET /{$} query render render miss done", sessions.Query{}},
		{"SP-17 all", "GET /{$} query render render miss done", sessions.Query{Mode: sessions.All}},
		{"SP-17 unique events", "GET /{$} render query done miss", sessions.Query{Mode: sessions.ReduceUniqueEvents}},
		{"SP-17 unique types have no names", "   ", sessions.Query{Mode: sessions.ReduceUniqueTypes}},
		{"SP-18 all as one, without a process where that is not known", "", sessions.Query{Mode: sessions.ReduceAll}},
		{"SP-19 the root is not in the answer", "query render render miss done", sessions.Query{Event: 1}},
		{"SP-19 of a leaf nothing", "", sessions.Query{Event: 2}},
		{"SP-20 depth 1 is the children", "query render render done", sessions.Query{Event: 1, MaxDepth: 1}},
		{"SP-20 of the timeline, too", "GET /{$}", sessions.Query{MaxDepth: 1}},
		{"SP-20 a depth that no tree has", "GET /{$} query render render miss done", sessions.Query{MaxDepth: math.MaxUint32}},
		{"SP-21 what is below a type left out is given", "miss done", sessions.Query{Types: []sessions.EventType{sessions.Mark}}},
		{"SP-21 hidden levels count", "done", sessions.Query{Types: []sessions.EventType{sessions.Mark}, MaxDepth: 2}},
		{"SP-22 touching is not overlapping", "GET /{$} render", sessions.Query{From: at(30 * ms), To: at(60 * ms)}},
		{"SP-22 without an end", "GET /{$} render miss done", sessions.Query{From: at(50 * ms)}},
		{"SP-22 without a start", "GET /{$} query", sessions.Query{To: at(40 * ms)}},
		{"SP-22 a moment at the start", "GET /{$} render miss", sessions.Query{From: at(65 * ms), To: at(66 * ms)}},
		{"SP-22 the moment at the end of all", "done", sessions.Query{From: at(100 * ms)}},
		{"a page", "query render", sessions.Query{After: 1, Limit: 2}},
		{"the last page", "done", sessions.Query{After: 5, Limit: 2}},
		{"after an event that is left out", "miss done", sessions.Query{After: 3, Types: []sessions.EventType{sessions.Mark}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Timeline = 1
			if got := names(ask(t, s, c.q)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Type-specific data is in modes All and ReduceUniqueEvents only, ids are in All only (SP-9, SP-15, SP-17).
func TestEvents_SP8_SP9_SP14_SP15_SP17(t *testing.T) {
	s := example(t)
	all := ask(t, s, sessions.Query{Timeline: 1})
	if e := all[0]; e.ID != 1 || e.ParentID != 0 || e.ChildCount != 4 || e.Type != sessions.Request ||
		e.Interval != (sessions.Interval{End: 100 * ms}) || e.Time != 50*ms || e.AggregatedTime != 100*ms || e.SpanID != spanContext(1, 1).SpanID() {
		t.Errorf("the request is %+v", e)
	}
	if d := all[0].Detail; len(d) != 3 || d[0].String() != "path=/" || d[1].String() != "method=GET" {
		t.Errorf("its detail is %v", d)
	}
	if e := all[1]; e.ID != 2 || e.ParentID != 1 || e.Type != sessions.Call || len(e.Detail) != 1 || e.Detail[0].String() != "sql=select" {
		t.Errorf("the query is %+v", e)
	}
	if e := all[4]; e.ParentID != 4 || e.Type != sessions.Mark || e.Time != 0 || e.Hits != 1 {
		t.Errorf("the moment is %+v", e)
	}
	if e := ask(t, s, sessions.Query{Timeline: 1, Mode: sessions.ReduceUniqueEvents})[1]; e.Hits != 2 || e.Time != 30*ms || e.Type != sessions.Measure ||
		e.Interval != (sessions.Interval{Start: 40 * ms, End: 80 * ms}) || e.ID != 0 || e.ParentID != 0 || e.Detail != nil || e.SpanID.IsValid() || e.AggregatedTime != 0 {
		t.Errorf("both renders are %+v", e)
	}
	if e := ask(t, s, sessions.Query{Timeline: 1, Mode: sessions.ReduceAll})[0]; e.Type != sessions.Generic || e.Hits != 6 || e.Time != 100*ms || e.Name != "" {
		t.Errorf("all is %+v", e)
	}
	if tl := s.Timelines()[0]; tl.AggregatedTime != 100*ms || tl.ChildCount != 1 || tl.Events != 6 || tl.Name != "GET /{$}" {
		t.Errorf("the timeline is %+v", tl)
	}
}

func TestBadQueries(t *testing.T) {
	s := example(t)
	at := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		name, want string
		q          sessions.Query
	}{
		{"no timeline", "timeline 0", sessions.Query{}},
		{"unknown timeline", "timeline 2", sessions.Query{Timeline: 2}},
		{"unknown event", "event 7", sessions.Query{Timeline: 1, Event: 7}},
		{"largest ids", "event 4294967295", sessions.Query{Timeline: 1, Event: math.MaxUint32}},
		{"unknown mode", "mode 5", sessions.Query{Timeline: 1, Mode: 5}},
		{"unknown mode, whatever else", "mode 9", sessions.Query{Timeline: 2, Mode: 9, Limit: 1}},
		{"unknown type", "type 10", sessions.Query{Timeline: 1, Types: []sessions.EventType{10}}},
		{"type 0", "type 0", sessions.Query{Timeline: 1, Types: []sessions.EventType{0}}},
		{"interval that ends first", "2ms to 1ms", sessions.Query{Timeline: 1, From: at(2 * ms), To: at(ms)}},
		{"negative limit", "limit -1", sessions.Query{Timeline: 1, Limit: -1}},
		{"after with another mode", "after event 1: mode 4", sessions.Query{Timeline: 1, Limit: math.MaxInt, After: 1, Mode: sessions.ReduceAll}},
		{"after an unknown event", "after event 7", sessions.Query{Timeline: 1, After: 7}},
		{"after the root", "after event 4", sessions.Query{Timeline: 1, Event: 4, After: 4}},
		{"after an event elsewhere", "after event 6", sessions.Query{Timeline: 1, Event: 4, After: 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := s.Events(t.Context(), c.q)
			rule := sessions.ErrInvalid
			if strings.HasPrefix(c.name, "unknown timeline") || strings.HasPrefix(c.name, "no timeline") || c.name == "unknown event" || c.name == "largest ids" {
				rule = sessions.ErrNotFound
			}
			wantErr(t, err, rule, c.want)
		})
	}
	for range s.All(9) {
		t.Error("an unknown timeline has an event")
	}
	if n := len(ask(t, s, sessions.Query{Timeline: 1, Types: []sessions.EventType{sessions.GC}})); n != 0 {
		t.Errorf("%d collections", n)
	}
}

func TestTimelineByID(t *testing.T) {
	p := newTape(t)
	p.in("a", 1*ms, 5*ms, 2, 0)
	p.in("b", 3*ms, 7*ms, 3, 0)
	s := p.session(nil)
	all := s.Timelines()
	if len(all) < 2 {
		t.Fatalf("%d timelines, want several", len(all))
	}
	for i, want := range all {
		if got, ok := s.Timeline(sessions.TimelineID(i + 1)); !ok || got != want || got.FrameID != 1 {
			t.Errorf("timeline %d is %+v, %v, want %+v", i+1, got, ok, want)
		}
	}
	for _, id := range []sessions.TimelineID{0, sessions.TimelineID(len(all) + 1), math.MaxUint32} {
		if got, ok := s.Timeline(id); ok || got != (sessions.Timeline{}) {
			t.Errorf("timeline %d is %+v", id, got)
		}
	}
}

func TestEmptySession(t *testing.T) {
	s := newTape(t).session(nil)
	if len(s.Timelines()) != 0 || s.Trace() != nil {
		t.Errorf("a session of nothing has %+v and samples %+v", s.Timelines(), s.Trace())
	}
	_, _, err := s.Events(t.Context(), sessions.Query{Timeline: 1})
	wantErr(t, err, sessions.ErrNotFound, "session 1 has no timelines")
}

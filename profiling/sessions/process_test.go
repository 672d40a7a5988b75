package sessions_test

import (
	"slices"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/sessions"
)

// REDUCE_ALL may be followed by the CPU time that the process used in that interval (SP-18).
func TestProcess_SP18(t *testing.T) {
	p := newTape(t)
	p.in("a", -50*ms, 150*ms, 1, 0)
	p.add(p.NewChild(), of{2, 2, 0}, "navigation", "/", 300*ms, 310*ms)
	readings := []sessions.Reading{{At: -100 * ms, Used: 0}, {At: 0, Used: 10 * ms}, {At: 100 * ms, Used: 110 * ms}, {At: 200 * ms, Used: 120 * ms}}
	s := p.build(sessions.Recording{CPU: readings})
	at := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		name   string
		q      sessions.Query
		time   time.Duration
		within sessions.Interval
	}{
		{"of the events, while it recorded", sessions.Query{Timeline: 1}, 105 * ms, sessions.Interval{Start: 0, End: 150 * ms}},
		{"from a time", sessions.Query{Timeline: 1, From: at(100 * ms)}, 5 * ms, sessions.Interval{Start: 100 * ms, End: 150 * ms}},
		{"to a time", sessions.Query{Timeline: 1, To: at(50 * ms)}, 50 * ms, sessions.Interval{Start: 0, End: 50 * ms}},
		{"of an interval that is longer", sessions.Query{Timeline: 1, From: at(-time.Hour), To: at(time.Hour)}, 110 * ms, sessions.Interval{Start: 0, End: 200 * ms}},
		{"after it recorded", sessions.Query{Timeline: 2}, -1, sessions.Interval{}},
		{"without events", sessions.Query{Timeline: 1, From: at(160 * ms)}, -1, sessions.Interval{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Mode = sessions.ReduceAll
			got := ask(t, s, c.q)
			if c.time < 0 {
				if len(got) > 1 {
					t.Errorf("got %+v", got)
				}
				return
			}
			if len(got) != 2 || got[0].Type != sessions.Generic {
				t.Fatalf("got %+v", got)
			}
			if p := got[1]; p.Type != sessions.Process || p.Time != c.time || p.Interval != c.within || p.Hits != 1 || p.ID != 0 {
				t.Errorf("got %+v, want %v in %v", p, c.time, c.within)
			}
		})
	}
	for _, c := range []struct {
		name        string
		types, want []sessions.EventType
	}{
		{"asked for", []sessions.EventType{sessions.Measure, sessions.Process}, []sessions.EventType{sessions.Generic, sessions.Process}},
		{"asked for alone", []sessions.EventType{sessions.Process}, []sessions.EventType{sessions.Process}},
		{"not asked for", []sessions.EventType{sessions.Measure}, []sessions.EventType{sessions.Generic}},
		{"of events that are not there", []sessions.EventType{sessions.Mark, sessions.Process}, []sessions.EventType{sessions.Process}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var types []sessions.EventType
			for _, e := range ask(t, s, sessions.Query{Timeline: 1, Mode: sessions.ReduceAll, Types: c.types}) {
				types = append(types, e.Type)
				if e.Type == sessions.Process && (e.Time != 105*ms || e.Interval != sessions.Interval{Start: 0, End: 150 * ms}) {
					t.Errorf("got %+v", e)
				}
			}
			if !slices.Equal(types, c.want) {
				t.Errorf("got %v, want %v", types, c.want)
			}
		})
	}
	first, more := askFor(t, s, sessions.Query{Timeline: 1, Mode: sessions.ReduceAll, Limit: 1})
	if len(first) != 1 || first[0].Type != sessions.Generic || !more {
		t.Errorf("the first of them is %+v, and more follow: %t", first, more)
	}
	if got := ask(t, p.session(nil), sessions.Query{Timeline: 1, Mode: sessions.ReduceAll}); len(got) != 1 { // where the system does not tell
		t.Errorf("got %+v", got)
	}
}

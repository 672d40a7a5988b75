package sessions

import (
	"slices"
	"testing"
	"time"
)

// REDUCE_ALL may be followed by the CPU time that the process used in that interval (SP-18).
func TestProcess_SP18(t *testing.T) {
	const ms = time.Millisecond
	s := &Session{
		cpu: []reading{{-100 * ms, 0}, {0, 10 * ms}, {100 * ms, 110 * ms}, {200 * ms, 120 * ms}},
		timelines: []timeline{
			{nodes: []node{{start: -50 * ms, end: 150 * ms, parent: none, size: 1, depth: 1, typ: Measure}}},
			{nodes: []node{{start: 300 * ms, end: 310 * ms, parent: none, size: 1, depth: 1, typ: Measure}}},
		},
	}
	at := func(d time.Duration) *time.Duration { return &d }
	for _, c := range []struct {
		name   string
		q      Query
		time   time.Duration
		within Interval
	}{
		{"of the events, while it recorded", Query{Timeline: 1}, 105 * ms, Interval{0, 150 * ms}},
		{"from a time", Query{Timeline: 1, From: at(100 * ms)}, 5 * ms, Interval{100 * ms, 150 * ms}},
		{"to a time", Query{Timeline: 1, To: at(50 * ms)}, 50 * ms, Interval{0, 50 * ms}},
		{"of an interval that is longer", Query{Timeline: 1, From: at(-time.Hour), To: at(time.Hour)}, 110 * ms, Interval{0, 200 * ms}},
		{"after it recorded", Query{Timeline: 2}, -1, Interval{}},
		{"without events", Query{Timeline: 1, From: at(160 * ms)}, -1, Interval{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.q.Mode = ReduceAll
			got, err := s.Events(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			if c.time < 0 {
				if n := len(got.List); n > 1 {
					t.Errorf("got %+v", got.List)
				}
				return
			}
			if len(got.List) != 2 || got.List[0].Type != Generic {
				t.Fatalf("got %+v", got.List)
			}
			if p := got.List[1]; p.Type != Process || p.Time != c.time || p.Interval != c.within || p.Hits != 1 || p.ID != 0 {
				t.Errorf("got %+v, want %v in %v", p, c.time, c.within)
			}
		})
	}
	for _, c := range []struct {
		name  string
		types []EventType
		want  []EventType
	}{
		{"asked for", []EventType{Measure, Process}, []EventType{Generic, Process}},
		{"asked for alone", []EventType{Process}, []EventType{Process}},
		{"not asked for", []EventType{Measure}, []EventType{Generic}},
		{"of events that are not there", []EventType{Mark, Process}, []EventType{Process}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := s.Events(t.Context(), Query{Timeline: 1, Mode: ReduceAll, Types: c.types})
			if err != nil {
				t.Fatal(err)
			}
			var types []EventType
			for _, e := range got.List {
				types = append(types, e.Type)
				if e.Type == Process && (e.Time != 105*ms || e.Interval != Interval{0, 150 * ms}) {
					t.Errorf("got %+v", e)
				}
			}
			if !slices.Equal(types, c.want) {
				t.Errorf("got %v, want %v", types, c.want)
			}
		})
	}
	if got, err := s.Events(t.Context(), Query{Timeline: 1, Mode: ReduceAll, Limit: 1}); err != nil || len(got.List) != 1 || got.List[0].Type != Generic || !got.More {
		t.Errorf("the first of them is %+v, %v", got, err)
	}
	s.cpu = nil // where the system does not tell
	if got, err := s.Events(t.Context(), Query{Timeline: 1, Mode: ReduceAll}); err != nil || len(got.List) != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}

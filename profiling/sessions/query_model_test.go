package sessions_test

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perfline/perfline/profiling/sessions"
)

// queries ask for a part of a timeline.
func queries(t *rapid.T, tl sessions.Timeline) sessions.Query {
	q := sessions.Query{Timeline: tl.ID}
	if rapid.Bool().Draw(t, "below an event") {
		q.Event = sessions.EventID(rapid.IntRange(1, tl.Events).Draw(t, "event"))
	}
	q.MaxDepth = uint32(rapid.IntRange(0, 4).Draw(t, "depth"))
	q.Types = rapid.SliceOfN(rapid.SampledFrom([]sessions.EventType{sessions.Measure, sessions.Mark, sessions.Call, sessions.Samples}), 0, 2).Draw(t, "types")
	at := func(name string, from int) *time.Duration {
		if !rapid.Bool().Draw(t, name) {
			return nil
		}
		d := time.Duration(rapid.IntRange(from, 60).Draw(t, name)) * ms / 2
		return &d
	}
	q.From = at("from", -12)
	from := -12
	if q.From != nil {
		from = int(*q.From / (ms / 2))
	}
	q.To = at("to", from)
	return q
}

// select is what a query asks for, in mode All.
func (m model) selected(q sessions.Query) (out []sessions.Event) {
	from, to := time.Duration(math.MinInt64), time.Duration(math.MaxInt64)
	if q.From != nil {
		from = *q.From
	}
	if q.To != nil {
		to = *q.To
	}
	for _, e := range m {
		depth := m.depth(e, q.Event)
		overlaps := e.Interval.Start < to && e.Interval.End > from
		if e.Interval.Start == e.Interval.End {
			overlaps = e.Interval.Start >= from && e.Interval.Start < to
		}
		if depth > 0 && (q.MaxDepth == 0 || depth <= int(q.MaxDepth)) && overlaps && (len(q.Types) == 0 || slices.Contains(q.Types, e.Type)) {
			out = append(out, e)
		}
	}
	return out
}

func reduced(list []sessions.Event, typed, named bool) (out []sessions.Event) {
	for _, e := range list {
		v := sessions.Event{Type: sessions.Generic, Time: e.Time, Overhead: e.Overhead, Hits: 1, Interval: e.Interval}
		if typed {
			v.Type = e.Type
		}
		if named {
			v.Name = e.Name
		}
		i := slices.IndexFunc(out, func(o sessions.Event) bool { return o.Type == v.Type && o.Name == v.Name })
		if i < 0 {
			out = append(out, v)
			continue
		}
		o := &out[i]
		o.Time, o.Overhead, o.Hits = o.Time+v.Time, o.Overhead+v.Overhead, o.Hits+1
		o.Interval.Start, o.Interval.End = min(o.Interval.Start, v.Interval.Start), max(o.Interval.End, v.Interval.End)
	}
	slices.SortFunc(out, func(a, b sessions.Event) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func wantAnswer(t *rapid.T, s *sessions.Session, q sessions.Query, want []sessions.Event) {
	got, gotMore, err := s.Events(t.Context(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	more := q.Limit > 0 && q.Limit < len(want)
	if more {
		want = want[:q.Limit]
	}
	if gotMore != more || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v: got\n%+v\nwant\n%+v", q, got, want)
	}
}

// Every query gives what the list of all events says.
func TestModelQueries_SP16_SP17_SP19_SP20_SP21_SP22(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := sessionOf(t, inputs.Draw(rt, "inputs"), traces.Draw(rt, "trace"))
		for _, tl := range s.Timelines() {
			m := model(slices.Collect(s.All(tl.ID)))
			for range 4 {
				q := queries(rt, tl)
				all := m.selected(q)
				wantAnswer(rt, s, q, all)
				for mode, want := range map[sessions.Mode][]sessions.Event{
					sessions.All: all, sessions.ReduceUniqueTypes: reduced(all, true, false),
					sessions.ReduceUniqueEvents: reduced(all, true, true), sessions.ReduceAll: reduced(all, false, false),
				} {
					q.Mode, q.Limit = mode, 0
					wantAnswer(rt, s, q, want)
					q.Limit = rapid.IntRange(1, 3).Draw(rt, "limit")
					wantAnswer(rt, s, q, want)
				}
				pages(rt, s, q, all)
			}
		}
	})
}

// pages are the whole list, cut.
func pages(t *rapid.T, s *sessions.Session, q sessions.Query, want []sessions.Event) {
	q.Mode, q.Limit = sessions.All, rapid.IntRange(1, 5).Draw(t, "limit")
	for {
		got, more, err := s.Events(t.Context(), q)
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		n := min(q.Limit, len(want))
		if len(got) != n || n > 0 && !reflect.DeepEqual(got, want[:n]) || more != (len(want) > n) {
			t.Fatalf("%+v: got\n%+v\nof\n%+v", q, got, want)
		}
		if want = want[n:]; !more {
			return
		}
		q.After = got[n-1].ID
	}
}

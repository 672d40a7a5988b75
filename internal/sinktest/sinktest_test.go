package sinktest

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// collecting is a sink through an observer; spoil is how it misbehaves.
func collecting(spoil func([]Record) []Record) func(*testing.T, *observer.Timeline) Sink {
	return func(t *testing.T, tl *observer.Timeline) Sink {
		var mu sync.Mutex
		var got []Record
		_, err := tl.Observe(func(l observer.List) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range l.Entries() {
				r := Record{Type: e.Type(), Name: e.Name(), Start: e.Time(), Duration: e.Duration()}
				for _, a := range e.Detail() {
					a.Value = a.Value.Resolve()
					r.Attrs = append(r.Attrs, a)
				}
				got = append(got, r)
			}
		}, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}})
		if err != nil {
			t.Fatal(err)
		}
		return Sink{Received: func() []Record {
			tl.Deliver()
			mu.Lock()
			defer mu.Unlock()
			return spoil(slices.Clone(got))
		}}
	}
}

func TestSinkThatIsRight(t *testing.T) {
	Test(t, collecting(func(r []Record) []Record { return r }))
}

// The test notices each rule that a sink breaks.
func TestSinksThatAreWrong(t *testing.T) {
	each := func(change func(*Record)) func([]Record) []Record {
		return func(rs []Record) []Record {
			for i := range rs {
				change(&rs[i])
			}
			return rs
		}
	}
	without := func(leave func(Record) bool) func([]Record) []Record {
		return func(rs []Record) []Record { return slices.DeleteFunc(rs, leave) }
	}
	dropAttr := func(key string) func([]Record) []Record {
		return each(func(r *Record) {
			r.Attrs = slices.DeleteFunc(slices.Clone(r.Attrs), func(a slog.Attr) bool { return a.Key == key })
		})
	}
	for _, c := range []struct {
		name  string
		spoil func([]Record) []Record
		want  string
	}{
		{"loses one", func(rs []Record) []Record { return rs[1:] }, "did not arrive"},
		{"loses the last", without(func(r Record) bool { return strings.HasSuffix(r.Name, " 099") }), "did not arrive"},
		{"doubles one", func(rs []Record) []Record { return append(rs, rs[0]) }, "arrived twice"},
		{"invents", func(rs []Record) []Record { return append(rs, Record{Type: observer.Mark, Name: "?"}) }, "not recorded"},
		{"wrong start", each(func(r *Record) { r.Start = r.Start.Add(1) }), "arrived as"},
		{"wrong duration", each(func(r *Record) { r.Duration++ }), "arrived as"},
		{"wrong type", each(func(r *Record) { r.Type = observer.Mark }), "arrived twice"},
		{"requests start elsewhere", each(func(r *Record) {
			if strings.HasPrefix(r.Name, "1") {
				r.Start = r.Start.Add(time.Hour)
			}
		}), "arrived as"},
		{"no requests", without(func(r Record) bool { return strings.HasPrefix(r.Name, "1") }), "did not arrive"},
		{"nothing after the request", without(func(r Record) bool { return r.Name >= "2 050" && r.Name < "3" }), "did not arrive"},
		{"order", func(rs []Record) []Record { slices.Reverse(rs); return rs }, "out of order"},
		{"no groups", dropAttr("group"), "group.inner.b"},
		{"no durations", dropAttr("duration"), "duration"},
		{"another value", each(func(r *Record) { r.Attrs = append(r.Attrs, slog.String("int", "7")) }), "int 7"},
		{"names that are not UTF-8 are lost", without(func(r Record) bool { return r.Name == notUTF8 }), "did not arrive"},
		{"empty names are lost", without(func(r Record) bool { return r.Name == "" }), `mark "" did not arrive`},
		{"durations lose their sign", each(func(r *Record) { r.Duration = r.Duration.Abs() }), "-1ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := observer.NewTimeline(observer.TimelineOptions{})
			s := collecting(c.spoil)(t, tl)
			if got := strings.Join(s.check((*record.Timeline)(tl)), "\n"); !strings.Contains(got, c.want) {
				t.Errorf("complaints are %.2000q, want one with %q", got, c.want)
			}
		})
	}
}

// A name that is not UTF-8 may arrive in another form, and a backward measure as the same interval the other way round.
func TestOtherForms(t *testing.T) {
	Test(t, func(t *testing.T, tl *observer.Timeline) Sink {
		s := collecting(func(rs []Record) []Record {
			for i := range rs {
				rs[i].Name = strings.ToValidUTF8(rs[i].Name, "\ufffd")
				if d := rs[i].Duration; d < 0 {
					rs[i].Start, rs[i].Duration = rs[i].Start.Add(d), -d
				}
			}
			return rs
		})(t, tl)
		s.Unsigned = true
		return s
	})
}

// A coarser clock at the other end is no fault within its resolution.
func TestResolution(t *testing.T) {
	Test(t, func(t *testing.T, tl *observer.Timeline) Sink {
		s := collecting(func(rs []Record) []Record {
			for i := range rs {
				rs[i].Start = rs[i].Start.Truncate(time.Microsecond)
				rs[i].Duration = rs[i].Duration.Truncate(time.Microsecond)
			}
			return rs
		})(t, tl)
		s.Resolution = time.Microsecond
		return s
	})
}

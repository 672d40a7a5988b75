package observertest

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
				for a := range e.Attrs() {
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
	TestSink(t, collecting(func(r []Record) []Record { return r }))
}

// complaints is a reporter that keeps what it is told.
type complaints struct{ *strings.Builder }

func (complaints) Helper() {}

func (c complaints) Errorf(format string, args ...any) {
	fmt.Fprintf(c, format+"\n", args...)
}

func (c complaints) Fatalf(format string, args ...any) { c.Errorf(format, args...) }

// Each rule notices a sink that breaks it.
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
		name, rule string
		spoil      func([]Record) []Record
		want       string
	}{
		{"loses one", "marks and measures arrive as they are", func(rs []Record) []Record { return rs[1:] }, "did not arrive"},
		{"doubles one", "marks and measures arrive as they are", func(rs []Record) []Record { return append(rs, rs[0]) }, "arrived twice"},
		{"wrong start", "marks and measures arrive as they are", each(func(r *Record) { r.Start = r.Start.Add(1) }), "arrived as"},
		{"wrong duration", "marks and measures arrive as they are", each(func(r *Record) { r.Duration++ }), "arrived as"},
		{"wrong type", "marks and measures arrive as they are", each(func(r *Record) { r.Type = observer.Mark }), "arrived as"},
		{"no requests", "requests", without(func(r Record) bool { return r.Name != "process" }), "arrived, want"},
		{"nothing after the request", "requests", without(func(r Record) bool { return r.Name == "after" }), "arrived, want"},
		{"order", "order and many goroutines", func(rs []Record) []Record { slices.Reverse(rs); return rs }, "out of order"},
		{"loses the last", "order and many goroutines", without(func(r Record) bool { return strings.HasSuffix(r.Name, " 099") }), "99 of 100"},
		{"invents", "order and many goroutines", func(rs []Record) []Record { return append(rs, Record{Type: observer.Mark, Name: "?"}) }, "not recorded"},
		{"no groups", "attributes", dropAttr("group"), "group.inner.b"},
		{"no durations", "attributes", dropAttr("duration"), "duration"},
		{"unresolved", "attributes", each(func(r *Record) {
			r.Attrs = append(r.Attrs, slog.String("valuer", "{}"))
		}), "valuer"},
		{"LogValuers are passed on", "attributes", each(func(r *Record) {
			r.Attrs = append(r.Attrs, slog.Any("valuer", valued{}))
		}), "not resolved"},
		{"requests start elsewhere", "marks and measures arrive as they are", each(func(r *Record) {
			if strings.HasSuffix(r.Name, "1") {
				r.Start = r.Start.Add(time.Hour)
			}
		}), "arrived as"},
		{"measures become marks", "odd names and durations", each(func(r *Record) { r.Type = observer.Mark }), "arrived, want one without"},
		{"odd names become another", "odd names and durations", each(func(r *Record) { r.Name = "gone" }), "did not arrive"},
		{"panics lose the entry", "values that panic", without(func(r Record) bool { return r.Name == "odd" }), "want both"},
		{"panics lose the neighbour", "values that panic", dropAttr("n"), "want 1"},
		{"odd names are lost", "odd names and durations", without(func(r Record) bool { return r.Name == "" }), "want 4"},
		{"durations lose their sign", "odd names and durations", each(func(r *Record) { r.Duration = r.Duration.Abs() }), "-1ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := complaints{&strings.Builder{}}
			for _, rule := range rules {
				if rule.name == c.rule {
					runRule(t, got, rule.check, collecting(c.spoil))
				}
			}
			if !strings.Contains(got.String(), c.want) {
				t.Errorf("complaints are %q, want one with %q", got, c.want)
			}
		})
	}
}

// A coarser clock at the other end is no fault within its resolution.
func TestResolution(t *testing.T) {
	TestSink(t, func(t *testing.T, tl *observer.Timeline) Sink {
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

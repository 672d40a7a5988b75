package timeline_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Any number of attributes arrives, wherever the entry is read, and stays when
// the memory it was written to is used again.
func TestAttributesStay(t *testing.T) {
	for _, n := range []int{0, 1, 2, 4, 5, 16, 17, 40, 200} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			process := newManual()
			for name, tl := range map[string]*observer.Timeline{"process": process.Timeline, "request": process.NewChild()} {
				obs, err := tl.Observe(func(observer.List) {}, observer.Options{Type: observer.Mark})
				if err != nil {
					t.Fatal(err)
				}
				attrs := make([]slog.Attr, n)
				for i := range attrs {
					attrs[i] = slog.Int(fmt.Sprint("key ", i), i)
				}
				check := func(where string, entries []observer.Entry) {
					t.Helper()
					if len(entries) == 0 {
						t.Fatalf("%s, %s: no entry", name, where)
					}
					e := entries[0]
					got := e.Detail()
					if len(got) != n || recorded(e).NumAttrs() != n {
						t.Fatalf("%s, %s: %d attributes, want %d", name, where, len(got), n)
					}
					for i, a := range got {
						if a.Key != fmt.Sprint("key ", i) || a.Value.Int64() != int64(i) {
							t.Errorf("%s, %s: attribute %d is %v", name, where, i, a)
						}
					}
				}
				rec(tl).Record(record.Mark, "first", 0, 0, attrs)
				clear(attrs) // the caller's to use again
				check("read at once", tl.EntriesByName("first"))
				rec(process.Timeline).Flush()
				check("read after a pass", tl.EntriesByName("first"))
				early := tl.EntriesByName("first")
				taken := obs.TakeRecords()
				for range 10 { // the same memory again
					for range 100 {
						rec(tl).Record(record.Measure, "other", 0, 0, []slog.Attr{slog.String("other", "other"), slog.String("other", "other")})
					}
					rec(process.Timeline).Flush()
				}
				check("read after the memory was used again", tl.EntriesByName("first"))
				check("held meanwhile", early)
				check("taken from an observer", taken)
			}
		})
	}
}

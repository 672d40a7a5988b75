package timeline_test

import (
	"log/slog"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// The same selections from a timeline and from a callback's list (PT-16, PT-17,
// PT-33).
func TestSelect_PT16_PT17(t *testing.T) {
	withoutGC(t)
	tl := newManual()
	var list observer.List
	all := observer.Options{Types: observer.SupportedEntryTypes()}
	if _, err := tl.Observe(func(l observer.List) { list = l }, all); err != nil {
		t.Fatal(err)
	}
	initiator := func(v slog.Value) []slog.Attr {
		return []slog.Attr{slog.Int("before", 1), {Key: observer.InitiatorKey, Value: v}}
	}
	rec(tl.Timeline).Record(record.Resource, "r2", 8, 1, initiator(slog.StringValue("db")))
	rec(tl.Timeline).Record(record.Mark, "a", 2, 0, nil)
	rec(tl.Timeline).Record(record.Measure, "a", 1, 1, nil)
	rec(tl.Timeline).Record(record.Resource, "r1", 3, 1, initiator(slog.AnyValue(lazy("fetch"))))
	rec(tl.Timeline).Record(record.Navigation, "n", 0, 9, nil)
	rec(tl.Timeline).Record(record.Server, "s", 4, 1, nil)
	rec(tl.Timeline).Record(record.GC, "g", 5, 1, nil)
	rec(tl.Timeline).Record(record.Mark, "", 6, 0, nil)
	rec(tl.Timeline).Record(record.Mark, "r1", 7, 0, initiator(slog.StringValue("fetch")))
	tl.run()

	type source interface {
		Entries(...observer.Filter) []observer.Entry
		EntriesByType(observer.Type) []observer.Entry
		EntriesByName(string, ...observer.Type) []observer.Entry
	}
	for name, s := range map[string]source{"timeline": tl, "callback's list": list} {
		t.Run(name, func(t *testing.T) {
			want(t, "PT-15 all, by start", names(s.Entries()), "n", "a", "a", "r1", "s", "g", "", "r1", "r2")
			want(t, "PT-16 each type: gc", names(s.EntriesByType(observer.GC)), "g")
			want(t, "PT-16 server", names(s.EntriesByType(observer.Server)), "s")
			want(t, "PT-16 navigation", names(s.EntriesByType(observer.Navigation)), "n")
			want(t, "PT-16 resource", names(s.EntriesByType(observer.Resource)), "r1", "r2")
			want(t, "PT-16 measure", names(s.EntriesByType(observer.Measure)), "a")
			want(t, "PT-16 the empty type", names(s.EntriesByType("")))
			want(t, "PT-16 a type in capitals", names(s.EntriesByType("Mark")))
			want(t, "PT-16 name", names(s.EntriesByName("a")), "a", "a")
			want(t, "PT-16 name and type", names(s.EntriesByName("r1", observer.Mark)), "r1")
			want(t, "PT-16 name and the empty type", names(s.EntriesByName("a", "")))
			want(t, "PT-16 a part of a name", names(s.EntriesByName("r")))
			want(t, "PT-16 the empty name", names(s.EntriesByName("")), "")
			want(t, "PT-16 the empty name and another type", names(s.EntriesByName("", observer.Measure)))
			want(t, "PT-17 the zero filter", names(s.Entries(observer.Filter{}))[:2], "n", "a")
			want(t, "PT-17 initiatorType, resolved", names(s.Entries(observer.Filter{InitiatorType: "fetch"})), "r1", "r1")
			want(t, "PT-17 all members must match", names(s.Entries(observer.Filter{InitiatorType: "fetch", Type: observer.Resource, Name: "r1"})), "r1")
			want(t, "PT-17 one member does not match", names(s.Entries(observer.Filter{InitiatorType: "db", Name: "r1"})))
			want(t, "PT-17 without the attribute", names(s.Entries(observer.Filter{InitiatorType: "fetch", Name: "a"})))
			want(t, "PT-17 two filters, nothing twice", names(s.Entries(observer.Filter{Name: "r2"}, observer.Filter{Type: observer.Resource})), "r1", "r2")
		})
	}
}

package timeline_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

// Every entry is accounted for: what was tried is recorded or Overflow, what was
// recorded is in a buffer or BufferFull, and delivered to or lost by each observer.
func TestStatsSums(t *testing.T) {
	tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize, o.ChildBufferSize, o.MaxPending = 10, 5, 48 })
	child := tl.NewChild()
	_, small := watch(t, tl.Timeline, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure}, MaxBuffer: 4})
	_, large := watch(t, tl.Timeline, both)
	refused := map[observer.Type]uint64{}
	tried := map[observer.Type]uint64{}
	for i := range 300 {
		on, typ := tl.Timeline, observer.Mark
		if i%3 == 0 {
			on = child
		}
		if i%4 == 0 {
			typ = observer.Measure
		}
		tried[typ]++
		if !rec(on).Record(record.Type(typ), string(typ), 0, 0, nil) {
			refused[typ]++
		}
		if i%100 == 60 {
			tl.run()
		}
	}
	tl.run()
	stats := tl.Stats()
	came := map[observer.Type]uint64{} // to the observer that has room
	for _, e := range *large {
		came[observer.Type(e)]++
	}
	for _, typ := range []observer.Type{observer.Mark, observer.Measure} {
		s := stats[typ]
		buffered := uint64(len(tl.EntriesByType(typ)) + len(child.EntriesByType(typ)))
		if s.Overflow != refused[typ] || s.Overflow == 0 || s.Recorded+s.Overflow != tried[typ] {
			t.Errorf("%s: %+v, want %d Overflow, and %d together with Recorded", typ, s, refused[typ], tried[typ])
		}
		if s.BufferFull == 0 || s.Recorded != buffered+s.BufferFull {
			t.Errorf("PT-3 %s: %+v, want Recorded to be the %d kept and BufferFull", typ, s, buffered)
		}
		waited := came[typ] // entries that found room to wait for the two observers
		if s.ObserverFull == 0 || waited == s.Recorded || 2*waited+(s.Recorded-waited) != s.Delivered+s.ObserverFull {
			t.Errorf("%s: %+v, want Delivered and ObserverFull to be the %d that waited, twice, and the others, once", typ, s, waited)
		}
	}
	if n := len(tl.EntriesByType(observer.Mark)); n != 10 {
		t.Errorf("PT-3: %d marks kept, want 10: BufferSize is by type", n)
	}
	total := stats.Total()
	if uint64(len(*small)+len(*large)) != total.Delivered {
		t.Errorf("%d and %d delivered, stats say %+v", len(*small), len(*large), total)
	}
	var sum observer.TypeStats
	for _, s := range stats {
		sum.Recorded += s.Recorded
		sum.Overflow += s.Overflow
		sum.BufferFull += s.BufferFull
		sum.Delivered += s.Delivered
		sum.ObserverFull += s.ObserverFull
	}
	if total != sum || len(stats) != 2 {
		t.Errorf("Total of %d types is %+v, want %+v of 2", len(stats), total, sum)
	}
	if other := child.Stats(); other[observer.Mark] != stats[observer.Mark] {
		t.Errorf("the child says %+v, the process %+v", other, stats)
	}
}

// With a scheduler that never runs anything, memory is bounded and the loss counted.
func TestNobodyCollects(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 100})
	child := tl.NewChild()
	buffered := uint64(0)
	for range 5000 {
		if rec(tl).Record(record.Mark, "m", 0, 0, nil) {
			buffered++
		}
		rec(child).Record(record.Mark, "m", 0, 0, nil) // to its own buffer
	}
	if buffered <= 168-24 || buffered > 168 { // seven chunks of 24
		t.Errorf("%d entries wait, want 145 to 168", buffered)
	}
	const full = 5000 - 2000
	if s := tl.Stats()[observer.Mark]; s.Recorded != buffered+5000 || s.Overflow != 5000-buffered || s.BufferFull != full {
		t.Errorf("stats are %+v, want %d recorded, %d Overflow and %d BufferFull", s, buffered+5000, 5000-buffered, full)
	}
	if !rec(tl).Record(record.Mark, "m", 0, 0, nil) {
		t.Error("after a collection there is no room")
	}
}

// Bounds are for each observer and type; the buffer drops the newest.
func TestBounds_PT3(t *testing.T) {
	tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize = 2 })
	obs, got := watch(t, tl.Timeline, observer.Options{Type: observer.Mark, MaxBuffer: 2})
	for _, name := range []string{"1", "2", "3"} {
		tl.add(observer.Mark, name)
	}
	want(t, "PT-3 the timeline keeps the oldest", names(tl.Entries()), "1", "2")
	if err := obs.Observe(observer.Options{Type: observer.Mark, MaxBuffer: 3}); err != nil {
		t.Fatal(err)
	}
	tl.add(observer.Mark, "4")
	tl.run()
	want(t, "the observer keeps the oldest, and more with a larger MaxBuffer", *got, "1", "2", "4")
	if n := rec(tl.Timeline).Clear(record.Mark, "1"); n != 1 {
		t.Errorf("cleared %d, want 1", n)
	}
	tl.add(observer.Mark, "5")
	want(t, "UT-8 clearing makes room", names(tl.Entries()), "2", "5")
	tl.add(observer.Measure, "other")
	want(t, "PT-3 another type's buffer has room", names(tl.EntriesByType(observer.Measure)), "other")
	if n := rec(tl.Timeline).Clear("frame"); n != 0 {
		t.Errorf("cleared %d of an unknown type", n)
	}
	_, fresh := watch(t, tl.Timeline, observer.Options{Type: observer.Mark, Buffered: true, MaxBuffer: 1})
	tl.run()
	want(t, "PT-27 Buffered obeys MaxBuffer", *fresh, "2")
}

// PT-29: the sum over the observed types, once for each registration.
func TestDroppedByType_PT29(t *testing.T) {
	withoutGC(t)
	for _, c := range []struct {
		name  string
		o     observer.Options
		wakes observer.Type // recorded after Observe, so that there is something to deliver
		want  uint64
	}{
		{"PT-29 one type", observer.Options{Type: observer.Mark, Buffered: true}, "", 2},
		{"PT-29 another type", observer.Options{Type: observer.Measure}, observer.Measure, 5 + 1}, // it has no room either
		{"PT-29 two types", both, observer.Mark, 2 + 5 + 1},
		{"PT-29 nothing dropped", observer.Options{Type: observer.GC, Buffered: true}, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := newManual(func(o *observer.TimelineOptions) { o.BufferSize = 1 })
			for typ, n := range map[observer.Type]int{observer.Mark: 3, observer.Measure: 6, observer.GC: 1} {
				for range n {
					tl.add(typ, "m")
				}
			}
			type call struct {
				n  uint64
				ok bool
			}
			var calls []call
			if _, err := tl.Observe(func(l observer.List) {
				n, ok := l.Dropped()
				calls = append(calls, call{n, ok})
			}, c.o); err != nil {
				t.Fatal(err)
			}
			rec(tl.Timeline).Record(record.Type(c.wakes), "m", 0, 0, nil)
			tl.run()
			for _, typ := range observer.SupportedEntryTypes() {
				tl.add(typ, "m")
			}
			tl.run()
			if w := []call{{c.want, true}, {0, false}}; !slices.Equal(calls, w) {
				t.Errorf("got %v, want %v", calls, w)
			}
		})
	}
}

func TestUnknownTypesAreNotRecorded(t *testing.T) {
	tl := newManual()
	for _, typ := range []observer.Type{"", "frame", "Mark", "mark "} {
		if rec(tl.Timeline).Record(record.Type(typ), "m", 0, 0, []slog.Attr{}) {
			t.Errorf("PT-22: an entry of type %q was recorded", typ)
		}
		if _, err := rec(tl.Timeline).NewEntry(record.Type(typ), "the entry", 0, 0); err == nil || !strings.Contains(err.Error(), `"the entry"`) || !strings.Contains(err.Error(), "supported are") {
			t.Errorf("PT-22: NewEntry of type %q: %v, want an error that names the entry and the types", typ, err)
		}
	}
	for _, typ := range observer.SupportedEntryTypes() {
		if !rec(tl.Timeline).Record(record.Type(typ), string(typ), 0, 0, nil) || len(tl.EntriesByType(typ)) != 1 {
			t.Errorf("PT-32: %q is said to be supported and is not recorded", typ)
		}
	}
	if len(tl.tasks) != 1 {
		t.Errorf("PT-4: %d tasks, want 1", len(tl.tasks))
	}
}

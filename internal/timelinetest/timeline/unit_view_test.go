package timeline_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/timelinetest/spantest"
	"github.com/perfline/perfline/observer"
)

// A unit's view has the spans with entries, measures and marks under all of its spans, as soon as they are recorded.
func TestViewOfAUnit(t *testing.T) {
	tl := newManual()
	tracing := spantest.New(rec(tl.Timeline))
	_, got := watch(t, tl.Timeline, observer.Options{Types: []observer.Type{observer.Mark, observer.Measure, observer.Resource}})
	root := tracing.NewRoot("root")
	u := root.Unit()
	a := root.Child("a")
	step := func(do func(), viewed ...string) {
		t.Helper()
		tl.now++
		do()
		want(t, "the view", names(view(&u.Timeline).Entries()), viewed...)
	}
	step(func() { mark(root, "1") }, "1")
	step(func() { measure(a, "2", slog.Int("n", 2)) }, "1", "2")
	step(func() { u.Record(record.Mark, "under no span", u.Now(), 0, nil) }, "1", "2", "under no span")
	step(func() { flush(t, tracing) }, "1", "2", "under no span")
	step(func() { mark(root, "3", slog.Int("n", 3)) }, "1", "2", "under no span", "3")
	step(func() { u.Clear(record.Mark, "1") }, "2", "under no span", "3")
	step(func() { a.EndAs(record.Resource, slog.Int("n", 4)) }, "2", "under no span", "3", "a") // it has real times
	step(func() { mark(a, "late") }, "2", "under no span", "3", "late", "a")
	if e := view(&u.Timeline).EntriesByName("a")[0]; e.Type() != observer.Resource || fmt.Sprint(e.Detail()) != "[n=4]" || recorded(e).Span() != a.IDs() {
		t.Errorf("the span's entry is %v with %v under %v", e, e.Detail(), recorded(e).Span())
	}
	if e := view(&u.Timeline).EntriesByName("3")[0]; fmt.Sprint(e.Detail()) != "[n=3]" || e.StartTime() != 5 || e.Timeline() != view(&u.Timeline) || recorded(e).RecordedAt() != 5 {
		t.Errorf("the mark is %v with %v", e, e.Detail())
	}
	if at, ok := u.Latest("3"); at != 5 || !ok {
		t.Errorf("Latest is %v, %v, want 5ns", at, ok)
	}
	if _, ok := u.Latest("1"); ok {
		t.Error("UT-21: a cleared mark is still known by its name")
	}
	root.End()
	want(t, "the view after the end", names(view(&u.Timeline).Entries()))
	tl.run()
	want(t, "UT-9 the observer", *got, "1", "2", "under no span", "3", "late", "a")
	if received := shown(tracing.Take()); received != "=2[n=2] | a[n=4] root(1 3[n=3])" {
		t.Errorf("Clear hides from the view only; the receiver got %s", received)
	}
}

// The entry of a finished span has the type given to EndSpan, for readers and observers, and without one there is no entry.
func TestEntriesOfFinishedSpans(t *testing.T) {
	tl := newManual()
	tracing := spantest.New(rec(tl.Timeline))
	_, got := watch(t, tl.Timeline, both)
	root := tracing.NewRoot("root")
	root.Child("measure").EndAs(record.Measure)
	root.Child("none").EndAs("")
	root.Child("another").EndAs(record.Resource)
	want(t, "the view", names(view(&root.Unit().Timeline).EntriesByType(observer.Measure)), "measure")
	tl.run()
	want(t, "the observer", *got, "measure")
}

// A span that another tracing system made has an entry where Show puts it.
func TestShow(t *testing.T) {
	tl := undelivered()
	child := tl.NewChild()
	ids := record.SpanIDs{Trace: [16]byte{1}, Self: record.ID{2}, Parent: record.ID{3}}
	for name, on := range map[string]*observer.Timeline{"process": tl, "request": child} {
		d := record.Description{
			Type: record.Resource, Name: name, Start: on.Origin().Add(time.Second), End: on.Origin().Add(3 * time.Second),
			Attrs: []slog.Attr{slog.Int("n", 1)},
		}
		if !rec(on).Show(ids, d) {
			t.Errorf("%s: refused", name)
		}
		d.Type = "frame"
		if rec(on).Show(ids, d) {
			t.Errorf("%s: an entry of an unknown type was recorded", name)
		}
		got := on.Entries()
		if len(got) != 1 {
			t.Fatalf("%s: got %v, want one", name, got)
		}
		if e := got[0]; e.Name() != name || e.StartTime() != time.Second || e.Duration() != 2*time.Second || recorded(e).RecordedAt() != 3*time.Second || recorded(e).Span() != ids || recorded(e).NumAttrs() != 1 {
			t.Errorf("%s: got %v, recorded at %v under %v", name, e, recorded(e).RecordedAt(), recorded(e).Span())
		}
	}
}

// A unit that is not read keeps no view, and each entry still reaches the observers of the unit and of the process.
func TestObserversOfAUnit(t *testing.T) {
	tl := newManual(func(o *observer.TimelineOptions) { o.ChildBufferSize = 2 })
	tracing := spantest.New(rec(tl.Timeline))
	root, other := tracing.NewRoot("root"), tracing.NewRoot("other")
	for i := range 3 {
		mark(root, fmt.Sprint("before ", i))
	}
	_, process := watch(t, tl.Timeline, marksOnly)
	var own []string
	var dropped uint64
	if _, err := view(&root.Unit().Timeline).Observe(func(l observer.List) {
		own = append(own, names(l.Entries())...)
		if n, ok := l.Dropped(); ok {
			dropped = n
		}
	}, observer.Options{Type: observer.Mark, Buffered: true}); err != nil {
		t.Fatal(err)
	}
	mark(root, "during")
	mark(other, "another unit's")
	root.End() // what its observers have is still delivered
	mark(root, "after")
	tl.run()
	want(t, "PT-27 the unit's observer", own, "before 0", "before 1", "during")
	want(t, "the process's observer", *process, "during", "another unit's", "after")
	if dropped != 2 {
		t.Errorf("PT-29: %d entries were dropped, want 2", dropped)
	}
	if _, err := view(&root.Unit().Timeline).Observe(func(observer.List) {}, marksOnly); err == nil {
		t.Error("a unit that has ended was observed")
	}
	other.End()
}

// An observer that registers while a unit records gets each entry once: from the view, or as it is recorded.
func TestBufferedMeanwhileInAUnit(t *testing.T) {
	const rounds, each = 200, 30
	tl := undelivered()
	tracing := spantest.New(rec(tl))
	process, err := tl.Observe(func(observer.List) {}, marksOnly) // so that entries are on their way already
	if err != nil {
		t.Fatal(err)
	}
	for range rounds {
		root := tracing.NewRoot("root")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for n := range each {
				mark(root, "m", slog.Int("n", n))
				if n%10 == 0 {
					measure(root, "m")
				}
			}
		}()
		obs, err := view(&root.Unit().Timeline).Observe(func(observer.List) {}, observer.Options{Type: observer.Mark, Buffered: true})
		if err != nil {
			t.Fatal(err)
		}
		<-done
		came := map[int]int{}
		for _, e := range obs.TakeRecords() {
			came[number(&e)]++
		}
		root.End()
		process.TakeRecords()
		for n := range each {
			if came[n] != 1 {
				t.Fatalf("entry %d came %d times, want once", n, came[n])
			}
		}
	}
}

// A scheduler may use the unit whose entry wants a collection.
func TestSchedulerReadsTheUnit(t *testing.T) {
	var root *spantest.Span
	read := 0
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {
		read += len(view(&root.Unit().Timeline).Entries())
	}})
	root = spantest.New(rec(tl)).NewRoot("root")
	if _, err := tl.Observe(func(observer.List) {}, both); err != nil {
		t.Fatal(err)
	}
	mark(root, "m")
	if read != 1 {
		t.Errorf("the scheduler read %d entries, want 1", read)
	}
}

// A value has a method that a test chooses.
type value func() string

func (v value) String() string { return v() }

// A value's method runs on the goroutine that records, and nothing waits for it but that.
func TestValuesOfAUnitStayWithTheirGoroutine(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tracing := spantest.New(rec(tl))
	if _, err := tl.Observe(func(observer.List) {}, both); err != nil {
		t.Fatal(err)
	}
	for name, add := range map[string]func(*spantest.Span, string, ...slog.Attr) bool{"mark": mark, "measure": measure} {
		t.Run(name, func(t *testing.T) {
			root := tracing.NewRoot("root")
			goOn, entered, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				add(root, "blocked", slog.Any("v", value(func() string {
					close(entered)
					<-goOn
					return "text"
				})))
			}()
			<-entered // everything below works while the value blocks
			add(root, "panics", slog.Any("v", value(func() string { panic("bad") })))
			var exited sync.WaitGroup
			spawn(&exited, func() {
				add(root, "exits", slog.Any("v", value(func() string { runtime.Goexit(); return "" })))
				t.Error("it returned")
			})
			exited.Wait()
			add(root, "reads", slog.Any("v", value(func() string { return fmt.Sprint(len(view(&root.Unit().Timeline).Entries())) })))
			flush(t, tracing)
			tl.Stats()
			want(t, "the view", names(view(&root.Unit().Timeline).Entries()), "panics", "exits", "reads")
			close(goOn)
			<-done
			root.End()
			got := map[string]string{}
			for _, part := range tracing.Take() {
				for _, r := range part {
					got[r.Name()] = r.Attrs
					for _, m := range r.Marks {
						got[m.Name] = m.Attrs
					}
				}
			}
			for entry, want := range map[string]string{"blocked": "[v=text]", "exits": "[v=!GOEXIT]", "reads": "[v=2]"} {
				if got[entry] != want {
					t.Errorf("%q arrived with %q, want %q", entry, got[entry], want)
				}
			}
			if len(got) != 5 || got["panics"] == "" {
				t.Errorf("arrived: %q", got)
			}
		})
	}
}

// A unit's attributes are freed with the unit, whether it is handed over or only its context is kept.
func TestUnitsAreFreed(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
	tracing := spantest.New(rec(tl))
	tracing.Discard = true
	const units, each = 50, 20
	values := make(freed, units*each)
	var contexts []context.Context // kept for ever
	for range units {
		root := tracing.NewRoot("root")
		for range each {
			referred := new([64]byte)
			watchFreed(values, referred)
			name := string(referred[:]) // not the object itself
			mark(root, name, slog.Any("held", referred))
			root.Unit().Record(record.Mark, name, 0, 0, []slog.Attr{slog.Time("t", time.Unix(1, 0))})
		}
		view(&root.Unit().Timeline).Entries()
		root.End()
		contexts = append(contexts, root.Context(context.Background()))
	}
	values.wait(t, units*each)
	runtime.KeepAlive(contexts)
}

// Stats have all that the calling goroutine recorded, while others hand it over.
func TestStatsWhileUnitsAreHandedOver(t *testing.T) {
	tl := undelivered()
	tracing := spantest.New(rec(tl))
	tracing.Discard = true
	stop := make(chan struct{})
	var all sync.WaitGroup
	spawn(&all, func() {
		for {
			select {
			case <-stop:
				return
			default:
				flush(t, tracing)
			}
		}
	})
	root := tracing.NewRoot("root")
	for n := range uint64(3_000) {
		measure(root, "m")
		if got := tl.Stats()[observer.Measure].Recorded; got != n+1 {
			t.Errorf("after %d measures %d are recorded", n+1, got)
			break
		}
	}
	close(stop)
	all.Wait()
	root.End()
}

// The views of all units have a bound in bytes, whatever the entries refer to. What finds no room is counted, and a unit's end gives its room back.
func TestViewsAreBounded(t *testing.T) {
	tl := undelivered()
	tracing := spantest.New(rec(tl))
	tracing.Discard = true
	long := strings.Repeat("x", 10<<10)
	var roots []*spantest.Span
	for range 40 {
		root := tracing.NewRoot("root")
		view(&root.Unit().Timeline).Entries()
		for range 100 { // 40 MiB in all
			mark(root, "m", slog.String("text", long+strings.Repeat("y", len(roots)))) // each unit has texts of its own
		}
		roots = append(roots, root)
	}
	held := 0
	for _, root := range roots {
		held += len(view(&root.Unit().Timeline).Entries())
	}
	const most = 16 << 20
	s, marks := rec(tl).UnitStats(), tl.Stats()[observer.Mark]
	if s.ViewBytes > most || s.ViewBytes < most*9/10 || held*len(long) > s.ViewBytes {
		t.Errorf("%d marks of %d bytes are in views that count %d bytes, want at most %d, and more than their texts", held, len(long), s.ViewBytes, most)
	}
	if uint64(held)+marks.BufferFull != marks.Recorded || marks.Recorded+marks.Overflow != 4000 {
		t.Errorf("%d marks are in views, and the counts are %+v", held, marks)
	}
	for _, root := range roots {
		root.End()
	}
	if s := rec(tl).UnitStats(); s.ViewBytes != 0 {
		t.Errorf("after the end of all units, their views count %d bytes", s.ViewBytes)
	}
}

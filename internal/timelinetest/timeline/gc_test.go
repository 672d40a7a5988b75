package timeline_test

import (
	"cmp"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
)

var gcOnly = observer.Options{Types: []observer.Type{observer.GC}}

// withoutGC keeps collections away from a test that observes all types and says
// which entries there are.
func withoutGC(t *testing.T) {
	t.Helper()
	percent := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(percent) })
	runtime.GC() // one that ran is over
}

// cycles is how many collections there have been.
func cycles() int64 {
	var s debug.GCStats
	debug.ReadGCStats(&s)
	return s.NumGC
}

// attr is an attribute's value, the zero one if there is none.
func attr(e observer.Entry, key string) slog.Value {
	for _, a := range e.Detail() {
		if a.Key == key {
			return a.Value
		}
	}
	return slog.Value{}
}

// cyclesOf are the numbers of the cycles, which must follow each other by their ends. Lists have them by their starts, which may differ: the pause of a
// collection has two parts, and a long one begins before the end of the last collection.
func cyclesOf(t *testing.T, who string, entries []observer.Entry) (numbers []int64) {
	t.Helper()
	end := func(e observer.Entry) time.Duration { return e.StartTime() + e.Duration() }
	entries = slices.SortedStableFunc(slices.Values(entries), func(a, b observer.Entry) int {
		return cmp.Or(cmp.Compare(end(a), end(b)), cmp.Compare(attr(a, "cycle").Int64(), attr(b, "cycle").Int64()))
	})
	for _, e := range entries {
		if e.Type() != observer.GC || attr(e, "cycle").Kind() != slog.KindInt64 {
			t.Fatalf("%s got %v %v, want a collection with its number", who, e, e.Detail())
		}
		n := attr(e, "cycle").Int64()
		if len(numbers) > 0 && n != numbers[len(numbers)-1]+1 {
			t.Errorf("%s got cycle %d after %v: lost, doubled or out of order", who, n, numbers)
		}
		if so := cycles(); n > so {
			t.Errorf("%s got cycle %d, and there have been %d so far", who, n, so)
		}
		numbers = append(numbers, n)
	}
	return numbers
}

// Nothing else is recorded: the collection itself sees to it that it is told.
func TestGCIsTold(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: time.Millisecond})
	arrived := make(chan []observer.Entry, 1000)
	obs, err := tl.Observe(func(l observer.List) { arrived <- l.Entries() }, gcOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer obs.Disconnect()
	var delivered []observer.Entry
	for round := range 3 { // each sentinel must be followed by another
		before := tl.Now()
		runtime.GC()
		after := tl.Now()
		for found := false; !found; {
			select {
			case entries := <-arrived:
				delivered = append(delivered, entries...)
			case <-time.After(time.Minute):
				t.Fatalf("round %d: the collection between %v and %v is not among %v", round, before, after, delivered)
			}
			found = slices.ContainsFunc(delivered, func(e observer.Entry) bool {
				end := e.StartTime() + e.Duration()
				return before <= end && end <= after
			})
		}
	}
	cyclesOf(t, "the observer", delivered)
	for _, e := range delivered {
		if e.Name() != "gc" || e.Duration() <= 0 || e.Duration() > tl.Now() || e.Timeline() != tl {
			t.Errorf("%v of %p, want one called gc that took a while, of %p", e, e.Timeline(), tl)
		}
	}
	newest := delivered[len(delivered)-1]
	if live, goal := attr(newest, "heapLive"), attr(newest, "heapGoal"); live.Kind() != slog.KindUint64 || live.Uint64() == 0 || goal.Uint64() < live.Uint64() {
		t.Errorf("live heap %v, goal %v, want both, and the goal above what is live", live, goal)
	}
}

// unscheduled is a timeline that collects when it is read, and never by itself.
func unscheduled() *observer.Timeline {
	return observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}})
}

func observeGC(t *testing.T, tl *observer.Timeline) *observer.Observer {
	t.Helper()
	obs, err := tl.Observe(func(observer.List) {}, gcOnly)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}

func TestGCOnceForEachObserver(t *testing.T) {
	tl := unscheduled()
	request := tl.NewChild()
	first := cycles() + 1
	a := observeGC(t, tl)
	child := observeGC(t, request)
	runtime.GC()
	second := cycles() + 1
	b := observeGC(t, tl)
	const rounds = 5
	var byA, byB []observer.Entry
	for range rounds {
		runtime.GC()
		byA = append(byA, a.TakeRecords()...)
		byB = append(byB, b.TakeRecords()...)
	}
	for who, c := range map[string]struct {
		entries []observer.Entry
		from    int64
		atLeast int
	}{"the first observer": {byA, first, rounds + 1}, "the second, which came later": {byB, second, rounds}} {
		numbers := cyclesOf(t, who, c.entries)
		if len(numbers) < c.atLeast || numbers[0] < c.from {
			t.Errorf("%s got %v, want at least %d, none before %d", who, numbers, c.atLeast, c.from)
		}
	}
	if got := child.TakeRecords(); len(got) > 0 || len(request.Entries()) > 0 {
		t.Errorf("the request's observer got %v, its timeline has %v", got, request.Entries())
	}
	if buffered := cyclesOf(t, "the timeline", tl.EntriesByType(observer.GC)); buffered[0] < first || len(buffered) < len(byA) {
		t.Errorf("the timeline kept %v, want all since %d", buffered, first)
	}
}

func TestGCOnlyWhileObserved(t *testing.T) {
	tl := unscheduled()
	recorded := func() uint64 { return tl.Stats()[observer.GC].Recorded }
	quiet := func(when string) {
		t.Helper()
		n := recorded()
		for range 3 {
			runtime.GC()
			rec(tl).Flush()
		}
		if got := recorded(); got != n {
			t.Errorf("%s: %d collections were recorded, want none", when, got-n)
		}
	}
	quiet("before Observe")
	if _, err := tl.Observe(func(observer.List) {}, marksOnly); err != nil {
		t.Fatal(err)
	}
	observeGC(t, tl.NewChild())
	quiet("marks are observed, and a request's collections, which it has none of")
	from := cycles() // before Observe: others collect, too
	obs := observeGC(t, tl)
	for round := range 3 {
		runtime.GC()
		got := obs.TakeRecords()
		if numbers := cyclesOf(t, "the observer", got); len(numbers) == 0 || numbers[0] <= from {
			t.Errorf("round %d: got cycles %v, want some, all after %d", round, numbers, from)
		}
		runtime.GC()
		obs.Disconnect()
		quiet("after Disconnect")
		from = cycles()
		if err := obs.Observe(gcOnly); err != nil {
			t.Fatal(err)
		}
	}
	other := observeGC(t, tl)
	obs.Disconnect()
	runtime.GC()
	if len(other.TakeRecords()) == 0 {
		t.Error("the other of two observers gets nothing after the first one's Disconnect")
	}
	if err := other.Observe(marksOnly); err != nil {
		t.Fatal(err)
	}
	quiet("after observing other types instead")
}

// After the last observer of collections leaves, the next collections free its watch and the timeline.
func TestGCIsLetGo(t *testing.T) {
	timelines := make(freed, 1)
	func() {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		watchFreed(timelines, tl)
		for range 10 { // more often than there are collections
			obs := observeGC(t, tl)
			runtime.GC()
			obs.Disconnect()
		}
	}()
	timelines.wait(t, 1)
}

// The runtime remembers so many cycles; of older ones it is known only that they were.
func TestGCThatTheRuntimeForgot(t *testing.T) {
	tl := unscheduled()
	obs := observeGC(t, tl)
	defer obs.Disconnect()
	const missed = 300
	for range missed {
		runtime.GC()
	}
	got := obs.TakeRecords()
	lost := tl.Stats()[observer.GC].Overflow
	if len(got) == 0 || lost == 0 {
		t.Fatalf("%d told and %d lost, want some of both", len(got), lost)
	}
	if total := uint64(len(got)) + lost; total < missed {
		t.Errorf("%d told and %d lost, want %d together", len(got), lost, missed)
	}
	cyclesOf(t, "the observer", got) // one after the other
	for i, e := range got {
		heap := recorded(e).NumAttrs() > 1
		if last := i == len(got)-1; heap != last || recorded(e).NumAttrs() == 0 {
			t.Errorf("cycle %d of %d has %v, want the heap's figures for the last one only", i+1, len(got), e.Detail())
		}
		if before := got[max(0, i-1)]; e.StartTime()+e.Duration() < before.StartTime()+before.Duration() {
			t.Errorf("%v ends before the one before", e)
		}
	}
}

// A pass that merges entries of several timelines has collections among them.
func TestGCAmongOthers(t *testing.T) {
	tl := unscheduled()
	obs, err := tl.Observe(func(observer.List) {}, observer.Options{Types: []observer.Type{observer.Mark, observer.GC}})
	if err != nil {
		t.Fatal(err)
	}
	defer obs.Disconnect()
	request := tl.NewChild()
	add(tl, observer.Mark, "of the process")
	runtime.GC()
	add(request, observer.Mark, "of a request")
	add(request, observer.Mark, "of a request, too")
	got := names(obs.TakeRecords())
	collections := slices.DeleteFunc(slices.Clone(got), func(name string) bool { return name != "gc" })
	marks := slices.DeleteFunc(slices.Clone(got), func(name string) bool { return name == "gc" })
	if len(collections) == 0 {
		t.Errorf("got %q, want a collection among them", got)
	}
	want(t, "marks", marks, "of the process", "of a request", "of a request, too")
}

func TestGCWithAClock(t *testing.T) {
	var now time.Duration
	tl := observer.NewTimeline(observer.TimelineOptions{Clock: func() time.Duration { return now }, Scheduler: func(func()) {}})
	obs := observeGC(t, tl)
	now = time.Hour
	defer obs.Disconnect()
	runtime.GC()
	got := obs.TakeRecords()
	if len(got) == 0 {
		t.Fatal("no collection was recorded")
	}
	for _, e := range got {
		if end := e.StartTime() + e.Duration(); end != time.Hour || e.Duration() <= 0 {
			t.Errorf("%v ends at %v, want an hour", e, end)
		}
	}
}

// A collection is no event of a bubble, whose timers must not be touched from
// outside: the program would be ended.
func TestGCInABubble(t *testing.T) {
	bubble(t, func(t *testing.T) {
		tl := observer.NewTimeline(observer.TimelineOptions{})
		obs := observeGC(t, tl)
		for range 3 {
			runtime.GC()
		}
		add(tl, observer.Mark, "m")
		if got := obs.TakeRecords(); len(got) > 0 {
			t.Errorf("got %v", got)
		}
		obs.Disconnect()
		<-time.After(time.Second)
	})
}

// Observers come and go while collections end and others record.
func TestGCConcurrently(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{Interval: time.Millisecond})
	var delivered []observer.Entry // by one callback at a time
	stay, err := tl.Observe(func(l observer.List) { delivered = append(delivered, l.Entries()...) }, gcOnly)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		spawn(&wg, func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				from := cycles()
				obs := observeGC(t, tl)
				add(tl, observer.Mark, "m")
				numbers := cyclesOf(t, "one who came and went", obs.TakeRecords())
				if len(numbers) > 0 && numbers[0] <= from {
					t.Errorf("got %v, want none up to %d, which had ended before Observe", numbers, from)
				}
				obs.Disconnect()
			}
		})
	}
	const rounds = 10
	for range rounds {
		runtime.GC()
	}
	close(stop)
	wg.Wait()
	tl.Deliver()
	stay.Disconnect()
	if numbers := cyclesOf(t, "the one that stayed", delivered); len(numbers) < rounds {
		t.Errorf("the one that stayed got %d cycles, want at least %d", len(numbers), rounds)
	}
}

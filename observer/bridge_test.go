package observer_test

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/observer"
)

// recorder is a bridge that notes what reaches it.
type recorder struct {
	scope     any
	record    bool
	again     int // passes it still asks for
	onCollect func()
	passes    [][]string
	started   []time.Time
}

func (b *recorder) Scope(context.Context) (any, bool) { return b.scope, b.record }

func (b *recorder) Start(ctx context.Context, name string, start time.Time) (context.Context, any) {
	b.started = append(b.started, start)
	return context.WithValue(ctx, startedKey{}, name), "opened " + name
}

type startedKey struct{}

func (b *recorder) Collect(pass iter.Seq[*observer.Entry]) bool {
	if b.onCollect != nil {
		b.onCollect()
	}
	var got []string
	for e := range pass {
		if e.Type() == "" {
			got = append(got, fmt.Sprint("message ", e.Scope()))
		} else {
			got = append(got, e.Name())
		}
	}
	b.passes = append(b.passes, got)
	b.again--
	return b.again >= 0
}

func (b *recorder) attach(tl *observer.Timeline) {
	tl.Attach(func(observer.Bridge) observer.Bridge { return b })
}

func TestEnter(t *testing.T) {
	ctx := context.Background()
	tl := newManual()
	child, sibling := tl.NewChild(), tl.NewChild()
	check := func(what string, on *observer.Timeline, ctx context.Context, typ observer.Type, want bool) {
		t.Helper()
		if _, ok := on.Enter(ctx, typ); ok != want {
			t.Errorf("%s: wanted is %v, want %v", what, ok, want)
		}
	}
	check("without a bridge", child, ctx, observer.Mark, true)
	b := &recorder{scope: "span"}
	b.attach(child) // which is the process's
	check("the bridge does not record", child, ctx, observer.Mark, false)
	check("a nil context has no span", child, nil, observer.Mark, true)
	if tl.Queue(ctx, entry(t, tl.Timeline, "m")) || len(tl.Entries()) != 0 {
		t.Error("Queue recorded what nothing wants")
	}

	obs, _ := watch(t, child, marksOnly)
	check("its observer wants marks", child, ctx, observer.Mark, true)
	check("its observer wants no measures", child, ctx, observer.Measure, false)
	check("another request's observer", sibling, ctx, observer.Mark, false)
	check("a request's observer and the process", tl.Timeline, ctx, observer.Mark, false)
	obs.Disconnect()
	check("PT-30 after Disconnect", child, ctx, observer.Mark, false)
	watch(t, tl.Timeline, marksOnly)
	check("the process's observer and a request", child, ctx, observer.Mark, true)
	check("an unknown type", child, ctx, "frame", false)

	b.record = true
	if scope, ok := child.Enter(ctx, observer.Measure); scope != "span" || !ok {
		t.Errorf("the bridge records: got %v, %v", scope, ok)
	}
}

func entry(t *testing.T, tl *observer.Timeline, name string, attrs ...slog.Attr) observer.Entry {
	t.Helper()
	e, err := tl.NewEntry(observer.Mark, name, tl.Now(), 0, attrs...)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestScope(t *testing.T) {
	tl := newManual()
	child := tl.NewChild()
	var seen []any
	if _, err := tl.Observe(func(l observer.List) {
		for _, e := range l.Entries() {
			seen = append(seen, e.Scope())
		}
	}, marksOnly); err != nil {
		t.Fatal(err)
	}
	for _, on := range []*observer.Timeline{tl.Timeline, child} {
		on.Record("span", observer.Mark, "m", 0, 0, nil)
	}
	tl.run()
	if !slices.Equal(seen, []any{"span", "span"}) {
		t.Errorf("callbacks saw the scopes %v", seen)
	}
	if e := tl.Entries()[0]; e.Scope() != nil {
		t.Errorf("the process's buffer keeps the scope %v", e.Scope())
	}
	if e := child.Entries()[0]; e.Scope() != "span" {
		t.Errorf("the request's buffer has the scope %v", e.Scope())
	}
}

func TestStartWithBridge(t *testing.T) {
	tl := newManual()
	ctx := context.Background()
	if got, scope := tl.Start(ctx, "s", 0); got != ctx || scope != nil {
		t.Errorf("without a bridge: %v, %v", got, scope)
	}
	b := &recorder{}
	b.attach(tl.Timeline)
	child := tl.NewChild()
	got, scope := child.Start(ctx, "s", 5*time.Millisecond)
	if got.Value(startedKey{}) != "s" || scope != "opened s" {
		t.Errorf("got %v, %v", got, scope)
	}
	if w := child.Origin().Add(5 * time.Millisecond); len(b.started) != 1 || !b.started[0].Equal(w) {
		t.Errorf("opened at %v, want %v", b.started, w)
	}
	if got, scope = child.Start(nil, "s", 0); got != nil || scope != nil { //nolint:staticcheck // nil is what is tested
		t.Errorf("with a nil context: %v, %v", got, scope)
	}
}

func TestPost(t *testing.T) {
	tl := newManual(func(o *observer.TimelineOptions) { o.MaxPending = 16 })
	if tl.Post("nobody listens") {
		t.Error("a message was taken without a bridge")
	}
	b := &recorder{record: true}
	b.attach(tl.Timeline)
	_, got := watch(t, tl.Timeline, both)
	tl.add(observer.Mark, "a")
	tl.Post(1)
	tl.add(observer.Mark, "b")
	want(t, "the buffer", names(tl.Entries()), "a", "b")
	tl.run()
	want(t, "the observer", *got, "a", "b")
	want(t, "the bridge, in order", slices.Concat(b.passes...), "a", "message 1", "b")
	if s := tl.Stats().Total(); s.Recorded != 2 {
		t.Errorf("%d recorded, want 2: messages are no entries", s.Recorded)
	}
	for range 24 { // a chunk: MaxPending is rounded up to one
		tl.Post("m")
	}
	if tl.Post("one too many") {
		t.Error("a message was taken beyond MaxPending")
	}
	if s := tl.Stats().Total(); s.Overflow != 0 {
		t.Errorf("%d Overflow, want 0: messages are no entries", s.Overflow)
	}
}

func TestAttach(t *testing.T) {
	tl := newManual()
	first, second := &recorder{record: true}, &recorder{record: true}
	tl.Attach(func(current observer.Bridge) observer.Bridge {
		if current != nil {
			t.Errorf("at first there is %v, want nil", current)
		}
		return first
	})
	tl.add(observer.Mark, "waits")
	tl.NewChild().Attach(func(current observer.Bridge) observer.Bridge {
		if current != first {
			t.Errorf("a request's bridge is %v, want the process's", current)
		}
		return second
	})
	tl.run()
	want(t, "the first bridge", slices.Concat(first.passes...))
	want(t, "the second bridge", slices.Concat(second.passes...), "waits")
	tl.Attach(func(observer.Bridge) observer.Bridge { return nil })
	if tl.Post("m") {
		t.Error("a message was taken after the bridge was removed")
	}
	if _, ok := tl.Enter(context.Background(), observer.Mark); !ok {
		t.Error("after the bridge was removed marks are not recorded")
	}
}

func TestCollectAgain(t *testing.T) {
	tl := newManual()
	b := &recorder{record: true, again: 3}
	b.attach(tl.Timeline)
	tl.add(observer.Mark, "m")
	tl.run()
	if len(b.passes) != 4 {
		t.Errorf("%d passes, want 4: it asked for another one three times", len(b.passes))
	}
}

// syncRecorder is told of entries while they are recorded.
type syncRecorder struct {
	recorder
	entries []observer.Entry
}

func (b *syncRecorder) Recorded(e observer.Entry) { b.entries = append(b.entries, e) }

func TestSyncBridge(t *testing.T) {
	tl := newManual()
	tl.now = 10
	b := &syncRecorder{recorder: recorder{record: true}}
	tl.Attach(func(observer.Bridge) observer.Bridge { return b })
	child := tl.NewChild()
	attrs := []slog.Attr{slog.Int("1", 1), slog.Int("2", 2), slog.Int("3", 3), slog.Int("4", 4), slog.Int("5", 5)}
	child.Record("span", observer.Measure, "m", 1, 2, attrs)
	tl.Post("no entry")
	if len(b.entries) != 1 {
		t.Fatalf("it was told of %d entries before Record returned, want 1", len(b.entries))
	}
	attrs[4] = slog.Int("changed", 0)
	e := b.entries[0]
	if e.Name() != "m" || e.Type() != observer.Measure || e.StartTime() != 1 || e.Duration() != 2 || e.Scope() != "span" || e.Timeline() != child {
		t.Errorf("got %s %q at %v for %v under %v", e.Type(), e.Name(), e.StartTime(), e.Duration(), e.Scope())
	}
	if got := fmt.Sprint(e.Detail()); got != "[1=1 2=2 3=3 4=4 5=5]" {
		t.Errorf("detail is %s", got)
	}
}

// It is told when an entry was recorded, as observers are.
func TestSyncBridgeRecordedAt(t *testing.T) {
	tl := undelivered()
	b := &syncRecorder{recorder: recorder{record: true}}
	tl.Attach(func(observer.Bridge) observer.Bridge { return b })
	child := tl.NewChild()
	child.Record(nil, observer.Measure, "m", 1, 2, nil)
	queued, err := child.NewEntry(observer.Measure, "between", 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	before := child.Now()
	child.Queue(t.Context(), queued)
	after := child.Now()
	if at := b.entries[0].RecordedAt(); at != 3 {
		t.Errorf("what was recorded at its end, 3 ns, was recorded at %v", at)
	}
	if at := b.entries[1].RecordedAt(); at < before || at > after {
		t.Errorf("what was queued between %v and %v was recorded at %v", before, after, at)
	}
}

// An entry recorded before another one, on whatever goroutine, arrives in the
// same pass or at the latest in the pass after it.
func TestCollectOrder(t *testing.T) {
	const hops, goroutines = 4000, 4
	tl := undelivered()
	passOf := make([]int, hops)
	pass := 0
	tl.Attach(func(observer.Bridge) observer.Bridge {
		return collectFunc(func(entries iter.Seq[*observer.Entry]) {
			pass++
			for e := range entries {
				if e.Name() == "token" {
					passOf[number(e)] = pass
				}
			}
		})
	})
	// A token goes round; whoever has it records its number. Others make noise
	// and passes meanwhile.
	ring := make([]chan int, goroutines)
	for i := range ring {
		ring[i] = make(chan int, 1)
	}
	var all, noise sync.WaitGroup
	stop := make(chan struct{})
	child := tl.NewChild()
	for i := range ring {
		on := []*observer.Timeline{tl, child}[i%2]
		all.Go(func() {
			for n := range ring[i] {
				for !on.Record(nil, observer.Mark, "token", on.Now(), 0, []slog.Attr{slog.Int("n", n)}) {
					tl.Flush()
				}
				if n+1 == hops {
					for _, c := range ring {
						close(c)
					}
					return
				}
				ring[(i+1)%goroutines] <- n + 1
			}
		})
		noise.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					record(on, observer.Mark, "noise")
					tl.Flush()
				}
			}
		})
	}
	ring[0] <- 0
	all.Wait()
	close(stop)
	noise.Wait()
	tl.Flush()
	tl.Flush()
	latest := 0 // pass of the entries recorded before
	for n, p := range passOf {
		if p == 0 || latest > p+1 {
			t.Fatalf("entry %d came in pass %d, one recorded before it in pass %d", n, p, latest)
		}
		latest = max(latest, p)
	}
}

type collectFunc func(iter.Seq[*observer.Entry])

func (f collectFunc) Scope(context.Context) (any, bool) { return nil, true }
func (f collectFunc) Start(ctx context.Context, _ string, _ time.Time) (context.Context, any) {
	return ctx, nil
}
func (f collectFunc) Collect(pass iter.Seq[*observer.Entry]) bool { f(pass); return false }

//go:build !go1.26 || go1.27 || perfline_portable

package labels

import (
	"bytes"
	"context"
	"runtime/pprof"
	"testing"

	"github.com/google/pprof/profile"
)

// labelled is what the labels of goroutines say now, by key: those of the one that
// calls, when no other has any.
func labelled(t *testing.T) map[string]string {
	t.Helper()
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 0); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&buf)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, s := range p.Sample {
		for k, v := range s.Label {
			found[k] = v[0]
		}
	}
	return found
}

func TestPortable(t *testing.T) {
	ctx := pprof.WithLabels(t.Context(), pprof.Labels("app", "shop"))
	begin := func(n byte) *Span { return Begin(ctx, [16]byte{n}, [8]byte{n}, string('0'+n), false) }
	if s := begin(1); s != nil {
		t.Error("a span although nobody holds it")
	}
	defer Hold()()
	want := func(what, span, app string) {
		t.Helper()
		if got := labelled(t); got["span_name"] != span || got["app"] != app {
			t.Errorf("%s the goroutine is labelled %v, want span %q and app %q", what, got, span, app)
		}
	}
	pprof.SetGoroutineLabels(ctx)
	defer pprof.SetGoroutineLabels(context.Background())
	a := begin(1)
	b := Begin(pprof.WithLabels(ctx, pprof.Labels("app", "b's")), [16]byte{2}, [8]byte{2}, "2", false)
	c := Begin(pprof.WithLabels(ctx, pprof.Labels("app", "c's")), [16]byte{3}, [8]byte{3}, "3", false)
	want("inside", "3", "c's")
	var text []Label
	for k, v := range labelled(t) {
		text = append(text, Label{k, v})
	}
	if trace, span, name, user, ok := FromText(text); !ok || trace != c.TraceID() || span != c.SpanID() || name != "3" || len(user) != 1 {
		t.Errorf("%v reads as %x %x %q %v %v", text, trace, span, name, user, ok)
	}
	b.End(0, "")
	want("with the outer ended", "3", "c's")
	c.End(0, "")
	want("after the inner", "1", "shop")
	pprof.Do(Context(ctx, a), pprof.Labels("step", "pay"), func(ctx context.Context) {
		if got := labelled(t); got["step"] != "pay" || got["span_name"] != "1" {
			t.Errorf("in Do the goroutine is labelled %v", got)
		}
		if FromContext(ctx) != a {
			t.Error("Do's context has no span")
		}
	})
	want("after Do", "1", "shop")
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("theirs", "x")))
		a.End(0, "")
		if got := labelled(t); got["theirs"] != "x" {
			t.Errorf("the goroutine that ended it is labelled %v", got)
		}
	}()
	<-done
	if FromContext(Context(ctx, a)) != nil {
		t.Error("a context has a span that has ended")
	}
	d := begin(4)
	e := Begin(context.Background(), [16]byte{5}, [8]byte{5}, "5", false)
	d.End(0, "")
	e.End(0, "")
	want("in the end", "", "shop")
	for range 10_000 { // each ended when the next has begun
		next := begin(5)
		d.End(0, "")
		d = next
	}
	if n := len(goroutines.span); n != 1 || d.prev != nil && d.prev.prev != nil {
		t.Errorf("%d goroutines have spans, want 1 with one or two", n)
	}
	most := 0
	var long []*Span
	for range 50 { // one that goes on, begun while two others were live that then end
		x, y := begin(6), begin(7)
		long = append(long, begin(8))
		y.End(0, "")
		x.End(0, "")
		n := 0
		for s := goroutines.span[d.goroutine]; s != nil; s = s.prev {
			n++
		}
		most = max(most, n-len(long))
	}
	if most > 4 {
		t.Errorf("%d spans that have ended are kept", most)
	}
	for _, s := range long {
		s.End(0, "")
	}
	d.End(0, "")
	if len(goroutines.span) != 0 {
		t.Errorf("spans are kept: %v", goroutines.span)
	}
}

func TestPortableRoots(t *testing.T) {
	bg := t.Context()
	of := func(ctx context.Context, trace, span byte, local bool) *Span {
		return Begin(ctx, [16]byte{trace}, [8]byte{span}, string('0'+span), local)
	}
	elsewhere := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		<-done
	}
	release := HoldLocalRoots()
	root := of(bg, 1, 1, true)
	if of(bg, 1, 2, false) != nil {
		t.Error("a child labels the goroutine of its root")
	}
	elsewhere(func() {
		s := of(Context(bg, root), 1, 2, false)
		if got := labelled(t); got["span_id"] != "0100000000000000" || got["span_name"] != "1" || s.IsSpan() || s.IsLocalRoot() {
			t.Errorf("a child elsewhere labels %v", got)
		}
		s.End(0, "")
	})
	other := of(bg, 2, 3, true)
	under := of(bg, 1, 4, false)
	if under == nil || under.Root() != root.Root() {
		t.Error("a child under another trace's span is not of its root")
	}
	release()
	defer Hold()()
	child := of(bg, 1, 5, false)
	if child == nil || child.Root() != root.Root() || child.SpanID() != [8]byte{5} || child.IsLocalRoot() || !root.IsLocalRoot() || !other.IsLocalRoot() {
		t.Errorf("a child is %+v, its root %+v", child, root)
	}
	for _, s := range []*Span{child, under, other} {
		s.End(0, "")
	}
	root.End(0, "GET /{id}")
	root.End(0, "later")
	if root.Name() != "GET /{id}" || child.Root().Name() != "GET /{id}" || child.Name() != "5" {
		t.Errorf("in the end they are called %q, %q and %q", root.Name(), child.Root().Name(), child.Name())
	}
	if len(goroutines.span) != 0 {
		t.Errorf("spans are kept: %v", goroutines.span)
	}
}

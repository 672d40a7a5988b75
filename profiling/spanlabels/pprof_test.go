package spanlabels

import (
	"bytes"
	"context"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/goruntime"
)

// withPprof has spans labelled through runtime/pprof during a test.
func withPprof(t testing.TB) {
	t.Helper()
	known := layoutKnown
	layoutKnown = func() bool { return false }
	t.Cleanup(func() {
		layoutKnown = known
		for i := range byTag {
			for j := range byTag[i] {
				byTag[i][j].Store(nil)
			}
		}
	})
}

// labelled returns the labels of the calling goroutine, as profiles have them.
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
		if slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
			return strings.HasSuffix(l.Line[0].Function.Name, "/spanlabels.labelled")
		}) {
			for k, v := range s.Label {
				found[k] = v[0]
			}
		}
	}
	return found
}

// spanContext returns the context of a span with these ids.
func spanContext(traceID [16]byte, spanID [8]byte) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID})
}

func beginIn(ctx context.Context, n byte) *Span {
	return Set(ctx, spanContext([16]byte{n}, [8]byte{n}), string('0'+n), false)
}

func TestWithPprof(t *testing.T) {
	withPprof(t)
	ctx := pprof.WithLabels(t.Context(), pprof.Labels("app", "shop"))
	if s := beginIn(ctx, 1); s != nil {
		t.Error("a span although nothing wants labels")
	}
	defer Hold(EverySpan)()
	want := func(what, span, app string) {
		t.Helper()
		if got := labelled(t); got["span_name"] != span || got["app"] != app {
			t.Errorf("%s the goroutine is labelled %v, want span %q and app %q", what, got, span, app)
		}
	}
	pprof.SetGoroutineLabels(ctx)
	defer pprof.SetGoroutineLabels(context.Background())
	a := beginIn(ctx, 1)
	b := beginIn(pprof.WithLabels(ctx, pprof.Labels("app", "b's")), 2)
	c := beginIn(pprof.WithLabels(ctx, pprof.Labels("app", "c's")), 3)
	want("inside", "3", "c's")
	var text []Label
	for k, v := range labelled(t) {
		text = append(text, Label{k, v})
	}
	if trace, span, name, user, ok := FromText(text); !ok || trace != c.TraceID() || span != c.SpanID() || name != "3" || len(user) != 1 {
		t.Errorf("%v reads as %v %v %q %v %v", text, trace, span, name, user, ok)
	}
	b.end(0, "")
	want("with the outer ended", "3", "c's")
	c.end(0, "")
	want("after the inner", "1", "shop")
	pprof.Do(NewContext(ctx, a), pprof.Labels("step", "pay"), func(ctx context.Context) {
		if got := labelled(t); got["step"] != "pay" || got["span_name"] != "1" || got["app"] != "shop" {
			t.Errorf("in Do the goroutine is labelled %v", got)
		}
		if inContext(ctx) != a {
			t.Error("Do's context has no span")
		}
	})
	want("after Do", "1", "shop")
	inner := beginIn(ctx, 2)
	pprof.Do(NewContext(ctx, a), pprof.Labels(), func(context.Context) { want("in Do with the outer span's context", "2", "shop") })
	inner.end(0, "")
	want("after the second span inside", "1", "shop")
	pprof.Do(NewContext(pprof.WithLabels(ctx, pprof.Labels("user", "7")), a), pprof.Labels(), func(context.Context) {
		if got := labelled(t); got["user"] != "7" || got["span_name"] != "1" {
			t.Errorf("in Do with more labels in the context the goroutine is labelled %v", got)
		}
	})
	pprof.SetGoroutineLabels(NewContext(ctx, a))
	if _, user := Resolve(Tag(), 0); user != nil {
		t.Errorf("labels %v were read from memory of an unknown layout", user)
	}
	if Innermost() != a {
		t.Error("the span is not the goroutine's innermost")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("theirs", "x")))
		a.end(0, "")
		if got := labelled(t); got["theirs"] != "x" {
			t.Errorf("the goroutine that ended it is labelled %v", got)
		}
	}()
	<-done
	if inContext(NewContext(ctx, a)) != nil {
		t.Error("a context has a span that has ended")
	}
	if Innermost() != nil {
		t.Error("a span that has ended is the goroutine's innermost")
	}
	d := beginIn(ctx, 4)
	e := beginIn(context.Background(), 5)
	d.end(0, "")
	e.end(0, "")
	want("after those that began later", "", "shop")
}

// The program's own labels are there again after a span, by the same pointer, also when
// the span's context does not carry them.
func TestWithPprofRestoresTheProgramsLabels(t *testing.T) {
	withPprof(t)
	defer Hold(EverySpan)()
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("app", "shop")))
	defer pprof.SetGoroutineLabels(context.Background())
	before := goruntime.Labels()
	outer := beginIn(t.Context(), 1)
	beginIn(t.Context(), 2).end(0, "")
	if Innermost() != outer {
		t.Error("the outer span's labels are not restored")
	}
	outer.end(0, "")
	if got := goruntime.Labels(); got != before {
		t.Errorf("the labels after a span are %p, and were %p before: %v", got, before, labelled(t))
	}
}

// A goroutine without labels that ends a span of another one gets none.
func TestWithPprofEndElsewhere(t *testing.T) {
	withPprof(t)
	defer Hold(EverySpan)()
	began, end := make(chan *Span), make(chan struct{})
	go func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("app", "shop")))
		began <- beginIn(context.Background(), 1)
		<-end
	}()
	defer close(end)
	s := <-began
	s.end(0, "")
	if goruntime.Labels() != nil {
		t.Errorf("it is labelled %v now", labelled(t))
	}
}

// A span is not forgotten for spans that have ended.
func TestWithPprofKnowsALongSpan(t *testing.T) {
	withPprof(t)
	defer Hold(EverySpan)()
	long := beginIn(t.Context(), 1)
	for range 10_000 {
		beginIn(t.Context(), 2).end(0, "")
	}
	if Innermost() != long {
		t.Error("after 10000 spans inside, the span is not the goroutine's innermost")
	}
	long.end(0, "")
	if goruntime.Labels() != nil {
		t.Errorf("the goroutine is left with labels %v", labelled(t))
	}
}

// Spans without an end do not keep memory for ever.
func TestWithPprofIsBounded(t *testing.T) {
	withPprof(t)
	defer Hold(EverySpan)()
	defer pprof.SetGoroutineLabels(context.Background())
	for range 100_000 {
		beginIn(context.Background(), 1)
	}
	kept := map[*Span]bool{}
	for i := range byTag {
		for j := range byTag[i] {
			if e := byTag[i][j].Load(); e != nil {
				for s := e.span; s != nil && !kept[s]; s = s.prev.Load() {
					kept[s] = true
				}
			}
		}
	}
	if most := 5 * len(byTag) * len(byTag[0]); len(kept) > most {
		t.Errorf("of 100000 spans that never end %d are kept, want at most %d", len(kept), most)
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("app", "shop")))
	if s := Innermost(); s != nil {
		t.Errorf("labels of the program's lead to the span %q", s.Name())
	}
}

func TestWithPprofRoots(t *testing.T) {
	withPprof(t)
	bg := t.Context()
	of := func(ctx context.Context, trace, span byte, local bool) *Span {
		return Set(ctx, spanContext([16]byte{trace}, [8]byte{span}), string('0'+span), local)
	}
	elsewhere := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); pprof.SetGoroutineLabels(bg); f() }()
		<-done
	}
	release := Hold(LocalRoots)
	root := of(bg, 1, 1, true)
	if of(bg, 1, 2, false) != nil {
		t.Error("a child labels the goroutine of its root")
	}
	elsewhere(func() {
		s := of(NewContext(bg, root), 1, 2, false)
		if s == nil {
			t.Error("a child elsewhere does not label its goroutine")
			return
		}
		if id := s.SpanID(); id != [8]byte{1} || s.Name() != "1" || s.isSpan() || s.isLocalRoot() {
			t.Errorf("a child elsewhere labels for span %v %q", id, s.Name())
		}
		s.end(0, "")
	})
	other := of(bg, 2, 3, true)
	under := of(bg, 1, 4, false)
	if under == nil || under.Root() != root.Root() {
		t.Error("a child under another trace's span is not of its root")
	}
	release()
	defer Hold(EverySpan)()
	child := of(bg, 1, 5, false)
	if child == nil || child.Root() != root.Root() || child.SpanID() != [8]byte{5} || child.isLocalRoot() || !root.isLocalRoot() || !other.isLocalRoot() {
		t.Errorf("a child is %+v, its root %+v", child, root)
	}
	for _, s := range []*Span{child, under, other} {
		s.end(0, "")
	}
	root.end(0, "GET /{id}")
	root.end(0, "later")
	if root.Name() != "GET /{id}" || child.Root().Name() != "GET /{id}" || child.Name() != "5" {
		t.Errorf("in the end they are called %q, %q and %q", root.Name(), child.Root().Name(), child.Name())
	}
	if goruntime.Labels() != nil {
		t.Errorf("the goroutine is left with labels %v", labelled(t))
	}
}

func BenchmarkWithPprof(b *testing.B) {
	withPprof(b)
	defer Hold(EverySpan)()
	b.ReportAllocs()
	for b.Loop() {
		beginIn(b.Context(), 1).end(1, "")
	}
}

package spanlabels_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"weak"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

// withPprof has spans labelled through runtime/pprof during a test.
func withPprof(t testing.TB) {
	t.Helper()
	t.Cleanup(spanlabels.WithPprof())
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
			return strings.HasSuffix(l.Line[0].Function.Name, "/spanlabels_test.labelled")
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

func beginIn(ctx context.Context, n byte) *spanlabels.Span {
	return spanlabels.Set(ctx, spanContext([16]byte{n}, [8]byte{n}), string('0'+n), false)
}

// carries reports whether ctx carries s: whether a span of its trace that another goroutine begins under ctx has its root.
func carries(ctx context.Context, s *spanlabels.Span) bool {
	result := make(chan bool)
	go func() {
		pprof.SetGoroutineLabels(context.Background())
		child := spanlabels.Set(ctx, spanContext(s.TraceID(), [8]byte{9}), "child", false)
		same := child.Root() == s.Root()
		child.End("")
		result <- same // when nothing of this goroutine uses the labels any more
	}()
	return <-result
}

// isLocalRoot reports whether s is the first span of its trace here: the ones that carry profile ids while local roots do.
func isLocalRoot(s *spanlabels.Span) bool {
	defer spanlabels.HoldProfileIDs(spanlabels.LocalRoots)()
	_, ok := s.ProfileID()
	return ok
}

// isSpan reports whether s labels for its own span, and not for the local root: the ones that carry profile ids while all do.
func isSpan(s *spanlabels.Span) bool {
	defer spanlabels.HoldProfileIDs(spanlabels.EverySpan)()
	_, ok := s.ProfileID()
	return ok
}

func TestWithPprof(t *testing.T) {
	withPprof(t)
	ctx := pprof.WithLabels(t.Context(), pprof.Labels("app", "shop"))
	if s := beginIn(ctx, 1); s != nil {
		t.Error("a span although nothing wants labels")
	}
	defer spanlabels.Hold(spanlabels.EverySpan)()
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
	var text []spanlabels.Label
	for k, v := range labelled(t) {
		text = append(text, spanlabels.Label{k, v})
	}
	if trace, span, name, user, ok := spanlabels.FromText(text); !ok || trace != c.TraceID() || span != c.SpanID() || name != "3" || len(user) != 1 {
		t.Errorf("%v reads as %v %v %q %v %v", text, trace, span, name, user, ok)
	}
	b.End("")
	want("with the outer ended", "3", "c's")
	c.End("")
	want("after the inner", "1", "shop")
	pprof.Do(spanlabels.NewContext(ctx, a), pprof.Labels("step", "pay"), func(ctx context.Context) {
		if got := labelled(t); got["step"] != "pay" || got["span_name"] != "1" || got["app"] != "shop" {
			t.Errorf("in Do the goroutine is labelled %v", got)
		}
		if !carries(ctx, a) {
			t.Error("Do's context has no span")
		}
	})
	want("after Do", "1", "shop")
	inner := beginIn(ctx, 2)
	pprof.Do(spanlabels.NewContext(ctx, a), pprof.Labels(), func(context.Context) { want("in Do with the outer span's context", "2", "shop") })
	inner.End("")
	want("after the second span inside", "1", "shop")
	pprof.Do(spanlabels.NewContext(pprof.WithLabels(ctx, pprof.Labels("user", "7")), a), pprof.Labels(), func(context.Context) {
		if got := labelled(t); got["user"] != "7" || got["span_name"] != "1" {
			t.Errorf("in Do with more labels in the context the goroutine is labelled %v", got)
		}
	})
	pprof.SetGoroutineLabels(spanlabels.NewContext(ctx, a))
	if _, user := spanlabels.Resolve(spanlabels.Tag(), 0); user != nil {
		t.Errorf("labels %v were read from memory of an unknown layout", user)
	}
	if spanlabels.Innermost() != a {
		t.Error("the span is not the goroutine's innermost")
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("theirs", "x")))
		a.End("")
		if got := labelled(t); got["theirs"] != "x" {
			t.Errorf("the goroutine that ended it is labelled %v", got)
		}
	}()
	<-done
	if carries(spanlabels.NewContext(ctx, a), a) {
		t.Error("a context has a span that has ended")
	}
	if spanlabels.Innermost() != nil {
		t.Error("a span that has ended is the goroutine's innermost")
	}
	d := beginIn(ctx, 4)
	e := beginIn(context.Background(), 5)
	d.End("")
	e.End("")
	want("after those that began later", "", "shop")
}

// The program's own labels are there again after a span, by the same pointer, also when
// the span's context does not carry them.
func TestWithPprofRestoresTheProgramsLabels(t *testing.T) {
	withPprof(t)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("app", "shop")))
	defer pprof.SetGoroutineLabels(context.Background())
	before := goruntime.Labels()
	outer := beginIn(t.Context(), 1)
	beginIn(t.Context(), 2).End("")
	if spanlabels.Innermost() != outer {
		t.Error("the outer span's labels are not restored")
	}
	outer.End("")
	if got := goruntime.Labels(); got != before {
		t.Errorf("the labels after a span are %p, and were %p before: %v", got, before, labelled(t))
	}
}

// A goroutine without labels that ends a span of another one gets none.
func TestWithPprofEndElsewhere(t *testing.T) {
	withPprof(t)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	began, end := make(chan *spanlabels.Span), make(chan struct{})
	go func() {
		pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("app", "shop")))
		began <- beginIn(context.Background(), 1)
		<-end
	}()
	defer close(end)
	s := <-began
	s.End("")
	if goruntime.Labels() != nil {
		t.Errorf("it is labelled %v now", labelled(t))
	}
}

// A span is not forgotten for spans that have ended.
func TestWithPprofKnowsALongSpan(t *testing.T) {
	withPprof(t)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	long := beginIn(t.Context(), 1)
	for range 10_000 {
		beginIn(t.Context(), 2).End("")
	}
	if spanlabels.Innermost() != long {
		t.Error("after 10000 spans inside, the span is not the goroutine's innermost")
	}
	long.End("")
	if goruntime.Labels() != nil {
		t.Errorf("the goroutine is left with labels %v", labelled(t))
	}
}

// Spans without an end do not keep memory for ever.
func TestWithPprofIsBounded(t *testing.T) {
	withPprof(t)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	defer pprof.SetGoroutineLabels(context.Background())
	const total = 30_000
	var spans []weak.Pointer[spanlabels.Span]
	for range total {
		spans = append(spans, weak.Make(beginIn(context.Background(), 1)))
	}
	runtime.GC()
	runtime.GC()
	stored := 0
	for _, s := range spans {
		if s.Value() != nil {
			stored++
		}
	}
	if most := 5 * 1024; stored > most {
		t.Errorf("of %d spans that never end %d are kept, want at most %d", total, stored, most)
	}
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("app", "shop")))
	if s := spanlabels.Innermost(); s != nil {
		t.Errorf("labels of the program's lead to the span %q", s.Name())
	}
}

func TestWithPprofRoots(t *testing.T) {
	withPprof(t)
	bg := t.Context()
	of := func(ctx context.Context, trace, span byte, local bool) *spanlabels.Span {
		return spanlabels.Set(ctx, spanContext([16]byte{trace}, [8]byte{span}), string('0'+span), local)
	}
	elsewhere := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); pprof.SetGoroutineLabels(bg); f() }()
		<-done
	}
	release := spanlabels.Hold(spanlabels.LocalRoots)
	root := of(bg, 1, 1, true)
	if of(bg, 1, 2, false) != nil {
		t.Error("a child labels the goroutine of its root")
	}
	elsewhere(func() {
		s := of(spanlabels.NewContext(bg, root), 1, 2, false)
		if s == nil {
			t.Error("a child elsewhere does not label its goroutine")
			return
		}
		if id := s.SpanID(); id != [8]byte{1} || s.Name() != "1" || isSpan(s) || isLocalRoot(s) {
			t.Errorf("a child elsewhere labels for span %v %q", id, s.Name())
		}
		s.End("")
	})
	other := of(bg, 2, 3, true)
	under := of(bg, 1, 4, false)
	if under == nil || under.Root() != root.Root() {
		t.Error("a child under another trace's span is not of its root")
	}
	release()
	defer spanlabels.Hold(spanlabels.EverySpan)()
	child := of(bg, 1, 5, false)
	if child == nil || child.Root() != root.Root() || child.SpanID() != [8]byte{5} || isLocalRoot(child) || !isLocalRoot(root) || !isLocalRoot(other) {
		t.Errorf("a child is %+v, its root %+v", child, root)
	}
	for _, s := range []*spanlabels.Span{child, under, other} {
		s.End("")
	}
	root.End("GET /{id}")
	root.End("later")
	if root.Name() != "GET /{id}" || child.Root().Name() != "GET /{id}" || child.Name() != "5" {
		t.Errorf("in the end they are called %q, %q and %q", root.Name(), child.Root().Name(), child.Name())
	}
	if goruntime.Labels() != nil {
		t.Errorf("the goroutine is left with labels %v", labelled(t))
	}
}

func BenchmarkWithPprof(b *testing.B) {
	withPprof(b)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	b.ReportAllocs()
	for b.Loop() {
		beginIn(b.Context(), 1).End("")
	}
}

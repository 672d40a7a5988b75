//go:build !perfline_portable

package spanlabels

import (
	"context"
	"runtime/pprof"
	"slices"
	"testing"
)

func ours(s *Span) []Label { return s.own[:] }

func TestPprofDoInside(t *testing.T) {
	on(t)
	before := label("app", "shop")
	defer setCurrent(nil)
	base := pprof.WithLabels(t.Context(), pprof.Labels("app", "shop"))
	s := begin(1)
	ctx := NewContext(base, s)
	pprof.Do(ctx, pprof.Labels("step", "pay"), func(ctx context.Context) {
		wantSpan(t, "in Do", s)
		want := append([]Label{{"app", "shop"}}, ours(s)...)
		want = slices.Insert(want, 3, Label{"step", "pay"})
		if got := current().list; !slices.Equal(got, want) {
			t.Errorf("labels in Do are %v, want %v", got, want)
		}
		if v, ok := pprof.Label(ctx, "app"); v != "shop" || !ok {
			t.Errorf("the context has app=%q", v)
		}
		in := current()
		inner := begin(2) // its own context cannot carry it
		pprof.Do(ctx, pprof.Labels("deeper", "yes"), func(context.Context) {
			wantSpan(t, "in a Do under Do's context", s) // that one's labels are made
		})
		inner.end(1, "")
		setCurrent(nil)
		pprof.SetGoroutineLabels(ctx)
		wantLabels(t, "Do's context has", in)
	})
	wantLabels(t, "after Do", &s.set)
	s.end(1, "")
	wantLabels(t, "after the span", before)
}

// Under a context that carries the outer span, the goroutine's own span counts.
func TestPprofDoInsideASpanWithoutContext(t *testing.T) {
	on(t)
	outer := begin(1)
	ctx := NewContext(t.Context(), outer)
	inner := begin(2)
	pprof.Do(ctx, pprof.Labels("step", "pay"), func(context.Context) { wantSpan(t, "in Do", inner) })
	wantLabels(t, "after Do", &inner.set)
	elsewhere(func() { // one that inherited it, and one that works for others
		pprof.Do(ctx, pprof.Labels("step", "pay"), func(context.Context) { wantSpan(t, "in Do of an inheritor", inner) })
		setCurrent(nil)
		other := begin(3)
		pprof.Do(ctx, pprof.Labels("step", "pay"), func(context.Context) { wantSpan(t, "in Do elsewhere", outer) })
		other.end(1, "")
		setCurrent(nil)
	})
	inner.end(1, "")
	pprof.Do(ctx, pprof.Labels(), func(context.Context) { wantSpan(t, "in Do after the inner", outer) })
	wantLabels(t, "after the inner", &outer.set)
	outer.end(1, "")
}

// A context outlives its span: then it has what is around, to the end what it had.
func TestContextAfterTheSpan(t *testing.T) {
	on(t)
	base := pprof.WithLabels(t.Context(), pprof.Labels("app", "shop"))
	outer := begin(1)
	inner := begin(2)
	ctx := NewContext(base, inner)
	for _, c := range []struct {
		what string
		want *Span
	}{{"inside", inner}, {"after the inner", outer}, {"after both", nil}} {
		if got := inContext(ctx); got != c.want {
			t.Errorf("%s: the context has %v, want %v", c.what, name(got), name(c.want))
		}
		if v, ok := pprof.Label(ctx, "app"); v != "shop" || !ok { // not the goroutine's
			t.Errorf("%s: the program's label is %q", c.what, v)
		}
		if c.want != nil {
			c.want.end(1, "")
		}
	}
	if got, want := fromContext(ctx), fromContext(base); got != want {
		t.Errorf("in the end the context's labels are %v, want %v", got, want)
	}
}

func TestContextPassesOtherValuesOn(t *testing.T) {
	on(t)
	type key struct{}
	s := begin(1)
	defer s.end(1, "")
	if v := NewContext(context.WithValue(t.Context(), key{}, 7), s).Value(key{}); v != 7 {
		t.Errorf("the value is %v, want 7", v)
	}
}

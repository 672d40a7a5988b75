//go:build !perfline_portable

package spanlabels_test

import (
	"context"
	"runtime/pprof"
	"slices"
	"testing"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

func TestPprofDoInside(t *testing.T) {
	on(t)
	before := label("app", "shop")
	defer goruntime.SetLabels(nil)
	base := pprof.WithLabels(t.Context(), pprof.Labels("app", "shop"))
	s, tag := beginTag(1)
	ctx := spanlabels.NewContext(base, s)
	pprof.Do(ctx, pprof.Labels("step", "pay"), func(ctx context.Context) {
		wantSpan(t, "in Do", s)
		want := slices.Insert(labelsOf(tag), 3, spanlabels.Label{Key: "step", Value: "pay"})
		if got := labelsOf(spanlabels.Tag()); !slices.Equal(got, want) {
			t.Errorf("labels in Do are %v, want %v", got, want)
		}
		if v, ok := pprof.Label(ctx, "app"); v != "shop" || !ok {
			t.Errorf("the context has app=%q", v)
		}
		in := spanlabels.Tag()
		inner := begin(2) // its own context cannot carry it
		pprof.Do(ctx, pprof.Labels("deeper", "yes"), func(context.Context) {
			wantSpan(t, "in a Do under Do's context", s) // that one's labels are made
		})
		inner.End("")
		goruntime.SetLabels(nil)
		pprof.SetGoroutineLabels(ctx)
		wantTag(t, "Do's context has", in)
	})
	wantTag(t, "after Do", tag)
	s.End("")
	wantTag(t, "after the span", before)
}

// Under a context that carries the outer span, the goroutine's own span counts.
func TestPprofDoInsideASpanWithoutContext(t *testing.T) {
	on(t)
	outer, outerTag := beginTag(1)
	ctx := spanlabels.NewContext(t.Context(), outer)
	inner, innerTag := beginTag(2)
	pprof.Do(ctx, pprof.Labels("step", "pay"), func(context.Context) { wantSpan(t, "in Do", inner) })
	wantTag(t, "after Do", innerTag)
	elsewhere(func() { // one that inherited it, and one that works for others
		pprof.Do(ctx, pprof.Labels("step", "pay"), func(context.Context) { wantSpan(t, "in Do of an inheritor", inner) })
		goruntime.SetLabels(nil)
		other := begin(3)
		pprof.Do(ctx, pprof.Labels("step", "pay"), func(context.Context) { wantSpan(t, "in Do elsewhere", outer) })
		other.End("")
		goruntime.SetLabels(nil)
	})
	inner.End("")
	pprof.Do(ctx, pprof.Labels(), func(context.Context) { wantSpan(t, "in Do after the inner", outer) })
	wantTag(t, "after the inner", outerTag)
	outer.End("")
}

// A context outlives its span: then it has what is around, to the end what it had.
func TestContextAfterTheSpan(t *testing.T) {
	on(t)
	base := pprof.WithLabels(t.Context(), pprof.Labels("app", "shop"))
	outer := begin(1)
	inner := begin(2)
	ctx := spanlabels.NewContext(base, inner)
	for _, c := range []struct {
		what string
		want *spanlabels.Span
	}{{"inside", inner}, {"after the inner", outer}, {"after both", nil}} {
		if got, _ := inContext(ctx); got != c.want {
			t.Errorf("%s: the context has %v, want %v", c.what, name(got), name(c.want))
		}
		if v, ok := pprof.Label(ctx, "app"); v != "shop" || !ok { // not the goroutine's
			t.Errorf("%s: the program's label is %q", c.what, v)
		}
		if c.want != nil {
			c.want.End("")
		}
	}
	_, got := inContext(ctx)
	if _, want := inContext(base); got != want {
		t.Errorf("in the end the context's labels are %v, want %v", labelsOf(got), labelsOf(want))
	}
}

func TestContextPassesOtherValuesOn(t *testing.T) {
	on(t)
	type key struct{}
	s := begin(1)
	defer s.End("")
	if v := spanlabels.NewContext(context.WithValue(t.Context(), key{}, 7), s).Value(key{}); v != 7 {
		t.Errorf("the value is %v, want 7", v)
	}
}

//go:build !perfline_portable && !race

// The race detector allocates on its own account.

package spanlabels_test

import (
	"context"
	"runtime/pprof"
	"testing"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/spanlabels"
)

// keyProbe is a context that learns the key by which runtime/pprof has labels in contexts.
type keyProbe struct {
	context.Context
	key any
}

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

func TestSpanAllocs(t *testing.T) {
	ctx := t.Context()
	traceID := [16]byte{1}
	pair := func() { spanlabels.Set(ctx, spanContext(traceID, [8]byte{1}), "a span of a usual name", false).End("") }
	check := func(what string, want float64, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(1000, f); got != want {
			t.Errorf("%s: %v allocations, want %v", what, got, want)
		}
	}
	check("Set and End, off", 0, pair)
	check("NewContext, off", 0, func() { spanlabels.NewContext(ctx, nil) })
	on(t)
	check("Set and End", 1, pair)
	s := spanlabels.Set(ctx, spanContext(traceID, [8]byte{2}), "around", true)
	around := spanlabels.Tag()
	check("Set and End inside another", 1, pair)
	check("Resolve", 0, func() { spanlabels.Resolve(spanlabels.Tag(), 1) })
	probe := &keyProbe{Context: ctx}
	pprof.Label(probe, "")
	check("Value of the labels", 0, func() { s.Value(ctx, probe.key) })
	check("Value of something else", 0, func() { s.Value(ctx, ctx) })
	c := spanlabels.NewContext(ctx, s)
	goruntime.SetLabels(nil)
	inContext := func() { spanlabels.Set(c, spanContext(traceID, [8]byte{1}), "a span of a usual name", false).End("") }
	check("Set and End under a context that carries another", 1, inContext)
	traceID[0] = 3
	check("Set and End of another trace under that context", 1, inContext)
	goruntime.SetLabels(around)
	s.End("")
	label("app", "shop")
	check("Set and End among labels of the program's", 3, pair)
	goruntime.SetLabels(nil)
	if size := unsafe.Sizeof(spanlabels.Span{}); size > 240 {
		t.Errorf("a Span has %d bytes, want at most 240, a size class", size)
	}
}

func BenchmarkSetEnd(b *testing.B) {
	for _, c := range []struct {
		name string
		user []string
		on   bool
	}{{"off", nil, false}, {"on", nil, true}, {"among 2 labels", []string{"app", "shop", "zone", "a"}, true}} {
		b.Run(c.name, func(b *testing.B) {
			if c.on {
				on(b)
			}
			label(c.user...)
			defer goruntime.SetLabels(nil)
			ctx, span := b.Context(), spanContext([16]byte{1}, [8]byte{1})
			b.ReportAllocs()
			for b.Loop() {
				spanlabels.Set(ctx, span, "a span of a usual name", false).End("")
			}
		})
	}
}

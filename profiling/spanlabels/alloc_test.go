//go:build !perfline_portable && !race

// The race detector allocates on its own account.

package spanlabels

import (
	"testing"
	"unsafe"
)

func TestAllocs(t *testing.T) {
	ctx := t.Context()
	pair := func() { Set(ctx, spanContext([16]byte{1}, [8]byte{1}), "a span of a usual name", false).end(1, "") }
	check := func(what string, want float64, f func()) {
		t.Helper()
		if got := testing.AllocsPerRun(1000, f); got != want {
			t.Errorf("%s: %v allocations, want %v", what, got, want)
		}
	}
	check("Set and End, off", 0, pair)
	check("NewContext, off", 0, func() { NewContext(ctx, nil) })
	on(t)
	check("Set and End", 1, pair)
	s := Set(ctx, spanContext([16]byte{1}, [8]byte{2}), "around", true)
	check("Set and End inside another", 1, pair)
	check("Resolve", 0, func() { Resolve(Tag(), 1) })
	check("inContext of another", 0, func() { inContext(ctx) })
	c := NewContext(ctx, s)
	check("inContext", 0, func() { inContext(c) })
	check("Value of the labels", 0, func() { s.Value(ctx, labelsKey()) })
	check("Value of something else", 0, func() { s.Value(ctx, ctx) })
	s.end(1, "")
	label("app", "shop")
	check("Set and End among labels of the program's", 3, pair)
	setCurrent(nil)
	if size := unsafe.Sizeof(Span{}); size > 240 {
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
			defer setCurrent(nil)
			ctx, span := b.Context(), spanContext([16]byte{1}, [8]byte{1})
			b.ReportAllocs()
			for b.Loop() {
				Set(ctx, span, "a span of a usual name", false).End("")
			}
		})
	}
}

package spanlabels

import (
	"context"
	"reflect"
	"runtime/pprof"
	"slices"
	"sync"
	"unsafe"
)

// inContext returns the span whose labels ctx carries, or nil.
func inContext(ctx context.Context) *Span {
	if !layoutKnown() {
		return fromPprofContext(ctx)
	}
	return find(fromContext(ctx))
}

func fromContext(ctx context.Context) *set {
	c := pprofContext()
	if v := ctx.Value(c.key); v != nil && reflect.TypeOf(v) == c.labelMap {
		return (*set)(reflect.ValueOf(v).UnsafePointer())
	}
	return nil
}

// Value returns the value for key in a child context of ctx. The child context contains s. Use
// Value to implement the method Value of a context type. pprof.Do and pprof.WithLabels under such a
// context add labels to the labels of s. pprof.Do restores the labels of s at the end.
//
// Value returns the labels of another span in these cases:
//
//   - The goroutine works for an inner span that began under s. Value returns the labels of the
//     inner span.
//   - s has ended. Value returns the labels of the next open span around s.
//
// The returned labels include the program's labels in ctx.
func (s *Span) Value(ctx context.Context, key any) any {
	if s == nil {
		return ctx.Value(key)
	}
	if !layoutKnown() {
		return pprofValue(ctx, s, key)
	}
	carried := pprofContext()
	if key != carried.key || key == nil {
		return ctx.Value(key)
	}
	n := s.innermost()
	if n == nil {
		return ctx.Value(key)
	}
	var more []Label // the goroutine's labels since s began
	for _, l := range fromContext(ctx).labels() {
		if !isOurs(l.Key) && !slices.Contains(s.list, l) {
			more = append(more, l)
		}
	}
	m := &n.set
	if len(more) > 0 {
		m = &set{merge(n.list, more)}
	}
	return reflect.NewAt(carried.labelMap.Elem(), unsafe.Pointer(m)).Interface()
}

// innermost returns the open span of the calling goroutine under a context that carries s: a span
// that began under s, or else the nearest open span from s outwards. It returns nil if all ended.
func (s *Span) innermost() *Span {
	n := s.nearest(s.g)
	if n == nil {
		return nil
	}
	if inner := Innermost(); inner.under(n) {
		return inner
	}
	return n
}

// under reports whether s is around, or lies under around.
func (s *Span) under(around *Span) bool {
	for s != nil && s != around {
		s = s.next()
	}
	return s != nil
}

// pprofContext describes how runtime/pprof stores labels in contexts.
var pprofContext = sync.OnceValue(func() *contextLabels {
	c := &contextLabels{key: labelsKey()}
	if c.key != nil {
		c.labelMap = reflect.TypeOf(
			pprof.WithLabels(context.Background(), pprof.Labels("", "")).Value(c.key))
	}
	return c
})

type contextLabels struct {
	key      any
	labelMap reflect.Type // *pprof.labelMap
}

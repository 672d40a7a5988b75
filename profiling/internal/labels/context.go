//go:build go1.26 && !go1.27 && !perfline_portable

package labels

import (
	"context"
	"reflect"
	"runtime/pprof"
	"slices"
	"sync"
	"unsafe"
)

// Context returns a context that carries s as runtime/pprof has labels carried, so
// that pprof.Do and pprof.WithLabels under it add to the span's labels, not to none,
// and pprof.Do restores them. They are those of the span that the goroutine works for
// when it began under s and its own context could not carry it, and of what is live
// around s when s has ended. Labels that ctx carries stay.
func Context(ctx context.Context, s *Span) context.Context {
	if s == nil || carriage().key == nil {
		return ctx
	}
	c := &labelled{Context: ctx, span: s}
	for _, l := range fromContext(ctx).labels() {
		if !isOurs(l.Key) && !slices.Contains(s.list, l) {
			c.more = append(c.more, l)
		}
	}
	return c
}

// FromContext is the span whose labels ctx carries, nil for none.
func FromContext(ctx context.Context) *Span { return find(fromContext(ctx).labels()) }

func fromContext(ctx context.Context) *set {
	c := carriage()
	if v := ctx.Value(c.key); v != nil && reflect.TypeOf(v) == c.labelMap {
		return (*set)(reflect.ValueOf(v).UnsafePointer())
	}
	return nil
}

type labelled struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	span            *Span
	more            []Label // that the goroutine did not have when span began
}

// Value implements [context.Context].
func (c *labelled) Value(key any) any {
	carried := carriage()
	if key != carried.key {
		return c.Context.Value(key)
	}
	s := c.span.nearest(c.span.g)
	if s == nil {
		return c.Context.Value(key)
	}
	if inner := innermost(); inner.under(s) {
		s = inner
	}
	m := &s.set
	if len(c.more) > 0 {
		m = &set{merge(s.list, c.more)}
	}
	return reflect.NewAt(carried.labelMap.Elem(), unsafe.Pointer(m)).Interface()
}

// under reports whether s is around, or the same.
func (s *Span) under(around *Span) bool {
	for s != nil && s != around {
		s = s.next()
	}
	return s != nil
}

// carriage is how runtime/pprof puts labels into contexts: the key, which it does not
// tell, and the type of the value. It is learned by being a context that is asked.
var carriage = sync.OnceValue(func() *carrying {
	probe := &keyProbe{Context: context.Background()}
	pprof.Label(probe, "")
	c := &carrying{key: probe.key}
	if c.key != nil {
		c.labelMap = reflect.TypeOf(pprof.WithLabels(context.Background(), pprof.Labels("", "")).Value(c.key))
	}
	return c
})

type carrying struct {
	key      any
	labelMap reflect.Type // *pprof.labelMap
}

type keyProbe struct {
	context.Context //nolint:containedctx // it is a context, wrapping its parent
	key             any
}

func (p *keyProbe) Value(key any) any {
	p.key = key
	return nil
}

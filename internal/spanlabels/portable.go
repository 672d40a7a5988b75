package spanlabels

import (
	"context"
	"hash/maphash"
	"runtime/pprof"
	"sync/atomic"
	"unsafe"
)

// A pprofSet is a span's labels that runtime/pprof made, because the layout of labels is unknown
// here. Then labels are known by their pointers only:
//
//   - The span is labelled beside the labels that its context carries, not beside those that the
//     goroutine has. End restores the goroutine's, by their pointer.
//   - The pointer leads to the span through a table of fixed size. It forgets spans that have ended
//     first. A span that it forgot restores nothing around it.
//   - Goroutines cannot be told apart. One that outlives its span keeps the span's labels, and
//     profiles count it for the span.
type pprofSet struct {
	tag    *set
	value  any // the same, as contexts carry it; also keeps the address from being used again
	around any // what the context given to Begin carried
	labels pprof.LabelSet
}

// labelWithPprof labels the calling goroutine with s, beside the labels of ctx.
func labelWithPprof(ctx context.Context, s *Span) *pprofSet {
	p := &pprofSet{around: carriedBy(ctx), labels: pprof.Labels(
		spanIDKey, s.own[0].Value, spanNameKey, s.own[1].Value, traceIDKey, s.own[2].Value)}
	labelled := pprof.WithLabels(ctx, p.labels)
	p.value = carriedBy(labelled)
	pprof.SetGoroutineLabels(labelled)
	p.tag = current()
	remember(&tagged{p.tag, s})
	return p
}

// carriedBy is the labels that ctx carries, as runtime/pprof put them there.
func carriedBy(ctx context.Context) any {
	if key := labelsKey(); key != nil {
		return ctx.Value(key)
	}
	return nil
}

// tagged is a span and its tag. It stays in the table when the span has ended, for goroutines that
// still have the labels, until another span needs the place.
type tagged struct {
	tag  *set
	span *Span
}

// byTag has the spans that began last. A tag's hash leads to its row, so that spans that go on at
// the same time rarely need one place. Its size bounds what spans without an end keep.
var byTag [1 << 8][4]atomic.Pointer[tagged]

var tagSeed = maphash.MakeSeed()

// rowOf returns a tag's row, and its first choice in it.
func rowOf(tag *set) (row *[4]atomic.Pointer[tagged], first uint64) {
	h := maphash.Comparable(tagSeed, uintptr(unsafe.Pointer(tag)))
	row = &byTag[h%uint64(len(byTag))]
	return row, h / uint64(len(byTag)) % uint64(len(row))
}

// remember puts t into a place that is empty, else of a span that has ended, else of any span.
func remember(t *tagged) {
	row, first := rowOf(t.tag)
	place, ended := &row[first], false
	for i := range row {
		p := &row[(first+uint64(i))%uint64(len(row))]
		switch old := p.Load(); {
		case old == nil:
			p.Store(t)
			return
		case !ended && !old.span.live():
			place, ended = p, true
		}
	}
	place.Store(t)
}

func findByTag(tag *set) *Span {
	row, _ := rowOf(tag)
	for i := range row {
		if t := row[i].Load(); t != nil && t.tag == tag {
			return t.span
		}
	}
	return nil
}

type spanKey struct{}

// fromPprofContext is the span that ctx carries, nil for none or one that has ended.
func fromPprofContext(ctx context.Context) *Span {
	if s, ok := ctx.Value(spanKey{}).(*Span); ok && s.live() {
		return s
	}
	return nil
}

// pprofValue is [Span.Value] for labels that runtime/pprof made.
func pprofValue(ctx context.Context, s *Span, key any) any {
	switch key {
	case spanKey{}:
		return s
	case labelsKey():
		n := s.innermost()
		if n == nil || n.pprof == nil {
			return ctx.Value(key)
		}
		if ctx.Value(key) == n.pprof.around {
			return n.pprof.value // the same pointer, by which End knows the labels
		}
		return pprof.WithLabels(ctx, n.pprof.labels).Value(key)
	default:
		return ctx.Value(key)
	}
}

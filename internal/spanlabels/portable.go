package spanlabels

import (
	"context"
	"hash/maphash"
	"runtime/pprof"
	"sync/atomic"
	"unsafe"
)

// A pprofSet is a span's labels made by runtime/pprof, for releases with an unknown layout of
// labels. Only the pointers of such labels are comparable:
//
//   - The span's labels stand beside the labels of its context, not beside the goroutine's. End
//     restores the goroutine's labels by their pointer.
//   - A table of fixed size maps the pointer to the span. The table drops ended spans first. A
//     dropped span restores nothing around it.
//   - Goroutines are indistinguishable. A goroutine that outlives its span keeps the span's labels,
//     and profiles count it for the span.
type pprofSet struct {
	tag    *set
	value  any // tag as contexts carry it; also keeps the address from reuse
	around any // the labels in the context of Begin
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

// carriedBy returns the labels that runtime/pprof put into ctx.
func carriedBy(ctx context.Context) any {
	if key := labelsKey(); key != nil {
		return ctx.Value(key)
	}
	return nil
}

// A tagged is an entry of byTag. It stays after the end of the span, for goroutines that still have
// the labels, until another span needs the place.
type tagged struct {
	tag  *set
	span *Span
}

// byTag holds the most recent spans. The hash of a tag selects a row, so that concurrent spans
// rarely need one place. The fixed size bounds the memory of spans without an end.
var byTag [1 << 8][4]atomic.Pointer[tagged]

var tagSeed = maphash.MakeSeed()

// rowOf returns a tag's row, and the first place to try in the row.
func rowOf(tag *set) (row *[4]atomic.Pointer[tagged], first uint64) {
	h := maphash.Comparable(tagSeed, uintptr(unsafe.Pointer(tag)))
	row = &byTag[h%uint64(len(byTag))]
	return row, h / uint64(len(byTag)) % uint64(len(row))
}

// remember stores t in an empty place, else in the place of an ended span, else in any place.
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

// fromPprofContext returns the open span that ctx carries, or nil.
func fromPprofContext(ctx context.Context) *Span {
	if s, ok := ctx.Value(spanKey{}).(*Span); ok && s.live() {
		return s
	}
	return nil
}

// pprofValue is [Span.Value] for labels made by runtime/pprof.
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
			return n.pprof.value // the pointer by which End recognizes the labels
		}
		return pprof.WithLabels(ctx, n.pprof.labels).Value(key)
	default:
		return ctx.Value(key)
	}
}

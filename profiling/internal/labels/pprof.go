package labels

import (
	"context"
	"hash/maphash"
	"runtime/pprof"
	"sync/atomic"
	"unsafe"
)

// A pprofSet is a span's labels that runtime/pprof made, because the layout of labels is
// unknown here. Then labels are known by their pointers only:
//
//   - The span is labelled beside the labels that its context carries, not beside those
//     that the goroutine has. End restores the goroutine's, by their pointer.
//   - The pointer leads to the span through a table of fixed size. A span that it forgot
//     restores nothing around it.
//   - Goroutines cannot be told apart. One that outlives its span keeps the span's labels,
//     and profiles count it for the span.
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
	slotOf(p.tag).Store(&tagged{p.tag, s})
	return p
}

// carriedBy is the labels that ctx carries, as runtime/pprof put them there.
func carriedBy(ctx context.Context) any {
	if key := labelsKey(); key != nil {
		return ctx.Value(key)
	}
	return nil
}

// tagged is a span and its tag. It stays in the table when the span has ended, for
// goroutines that still have the labels, until another span needs the place.
type tagged struct {
	tag  *set
	span *Span
}

// byTag has the spans that began last. Its size bounds what spans without an end keep.
var byTag [1 << 10]atomic.Pointer[tagged]

var tagSeed = maphash.MakeSeed()

func slotOf(tag *set) *atomic.Pointer[tagged] {
	return &byTag[maphash.Comparable(tagSeed, uintptr(unsafe.Pointer(tag)))%uint64(len(byTag))]
}

func findByTag(tag *set) *Span {
	if t := slotOf(tag).Load(); t != nil && t.tag == tag {
		return t.span
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

// pprofValue is [Value] for labels that runtime/pprof made.
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

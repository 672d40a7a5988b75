package spanlabels

import (
	"cmp"
	"context"
	"encoding/hex"
	"sync/atomic"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/goruntime"
)

// A Span is a span that labels goroutines. The methods may be called concurrently. The methods of a
// nil Span do nothing.
//
// A Span requires only one allocation. The first field is a set of labels in the layout of the
// runtime. When runtime/pprof merges the set with labels of the program, the new strings still
// point into the field text. If the layout of labels is unknown, runtime/pprof creates the labels.
type Span struct {
	set
	own [3]Label // the list of a span on a goroutine without other labels
	// ended is the time of the end by the clock of samples, 0 for an open span. It is negative if
	// another goroutine than the span's ended the span.
	ended atomic.Int64
	text  idText
	depth int32  // at least the length of the chain of prev
	g     uint32 // the goroutine that began the span, see goroutine

	// The goroutine's previous labels are prev or, without prev, base: a set that is not a Span, or
	// nil. All spans in a chain of prev have the same base.
	prev atomic.Pointer[Span]
	base atomic.Pointer[set]

	pprof *pprofSet // the labels if the layout is unknown, else nil

	root    *Span // see Root; without prev and without a span in base, so that it keeps no others
	named   *Span // the span for which s is another label; nil for s itself
	endName atomic.Pointer[string]
}

// maxDepth bounds a chain of prev, for programs that leave spans open on a goroutine. The span over
// a full chain restores its base. Chains of pprofSets are shorter, see byTag.
const (
	maxDepth      = 1 << 10
	maxDepthPprof = 1 << 5
)

// Set labels the calling goroutine with a new span until [Span.End]. If root is true, the span is a
// local root, without a parent in this process. Do not call Set for unsampled spans. Set returns
// nil in these cases:
//
//   - No profiler needs labels. In this case, Set only reads a counter.
//   - The labels of the goroutine are already correct for the span.
//   - ctx is a result of [Without].
func Set(ctx context.Context, span trace.SpanContext, name string, root bool) *Span {
	if !Enabled() {
		return nil
	}
	return labelSpan(ctx, span, name, root)
}

// labelSpan is Set while a profiler wants labels: the compiler inlines Set.
func labelSpan(ctx context.Context, span trace.SpanContext, name string, root bool) *Span {
	if _, ok := ctx.(without); ok {
		return nil
	}
	traceID, spanID, every := span.TraceID(), span.SpanID(), labels.every()
	var traceText [len(idText{}.trace)]byte
	encode(traceText[:], traceID[:])
	g := goroutine()
	before := current()
	below := find(before)
	var around *Span // an outer span of the same trace
	if !root {
		if around = below.nearest(g); around != nil && around.text.trace == traceText {
			if !every {
				return nil
			}
		} else {
			around = below.ofTrace(ctx, &traceText, g)
		}
	}
	s := &Span{g: g}
	s.text.secret = *secret()
	s.text.trace = traceText
	if around != nil && !every {
		s.text.span = around.root.text.span
		s.named, name = around.root, around.root.begunName()
	} else {
		encode(s.text.span[:], spanID[:])
		name = labelName(name)
		if around != nil && around.text.span == s.text.span {
			// Not a span with named, which would make a chain.
			s.named = cmp.Or(around.named, around)
		}
	}
	// One by one: the write barriers of a copy of the array take longer.
	s.own[0] = Label{spanIDKey, unsafe.String(&s.text.span[0], len(s.text.span))}
	s.own[1] = Label{spanNameKey, name}
	s.own[2] = Label{traceIDKey, unsafe.String(&s.text.trace[0], len(s.text.trace))}
	s.list = s.own[:]
	if before != nil {
		if user := before.labels(); !below.plain(before) && len(users(user)) > 0 {
			s.list = merge(user, s.own[:])
		}
		s.over(before, below)
	}
	switch {
	case around != nil:
		s.root = around.root
	case below == nil:
		s.root = s
	default: // children may live longer, and must not keep the spans around s
		r := &Span{text: s.text}
		r.own[1].Value, r.root = name, r
		s.root = r
	}
	if layoutKnown() {
		setCurrent(&s.set)
	} else {
		s.pprof = labelWithPprof(ctx, s)
	}
	return s
}

// tag returns the runtime's pointer to the span's labels.
func (s *Span) tag() *set {
	if s.pprof != nil {
		return s.pprof.tag
	}
	return &s.set
}

// ofTrace returns the span of a trace that the goroutine works for: the innermost open one, else
// the span in ctx, or nil.
func (s *Span) ofTrace(ctx context.Context, traceText *[32]byte, g uint32) *Span {
	for s = s.nearest(g); s != nil; s = s.next().nearest(g) {
		if s.text.trace == *traceText {
			return s
		}
	}
	if s = inContext(ctx); s != nil && s.text.trace == *traceText {
		return s
	}
	return nil
}

// plain reports whether labels are exactly the labels of s.
func (s *Span) plain(labels *set) bool {
	return s != nil && s.tag() == labels && len(s.list) == len(s.own)
}

// TraceID returns the trace id of s.
func (s *Span) TraceID() (id trace.TraceID) {
	_, _ = hex.Decode(id[:], s.text.trace[:])
	return id
}

// SpanID returns the span id in the labels of s. The id is the id of the span or of the local root.
func (s *Span) SpanID() (id trace.SpanID) {
	_, _ = hex.Decode(id[:], s.text.span[:])
	return id
}

func (s *Span) begunName() string { return s.own[1].Value }

// over sets the labels that s restores: the goroutine's labels, which may be of the span below.
func (s *Span) over(before *set, below *Span) {
	if below == nil || below.tag() != before { // other code's labels, perhaps with a span's labels
		s.base.Store(before)
		return
	}
	below.settle()
	if base := below.base.Load(); base != nil {
		s.base.Store(base)
	}
	most := int32(maxDepth)
	if !layoutKnown() {
		most = maxDepthPprof
	}
	if s.depth = below.depth + 1; s.depth >= most { // removed spans do not count
		s.depth = 0
		for p := below; p != nil; p = p.prev.Load() {
			s.depth++
		}
	}
	if s.depth < most {
		s.prev.Store(below)
	} else {
		s.depth = 0
	}
}

// End ends the span and restores the previous labels of the goroutine. name is the span's name at
// the end, or "" for an unknown name. End changes labels only on the goroutine that called Set.
// Further calls do nothing.
//
// If an outer span has ended, End restores the labels of the nearest open outer span. If other
// goroutines ended inner spans, End also replaces the labels of these inner spans.
func (s *Span) End(name string) {
	if s != nil {
		s.end(goruntime.Nanotime(), name)
	}
}

// end is End at a time by the clock of samples.
func (s *Span) end(now int64, name string) {
	if s == nil || s.ended.Load() != 0 {
		return
	}
	s.rename(name)
	now, on := max(now, 1), goroutine()
	if on == 0 || on != s.g {
		now = -now
	}
	if !s.ended.CompareAndSwap(0, now) {
		return
	}
	s.settle()
	labels, top := current(), s
	if labels != s.tag() {
		top = find(labels)
	}
	switch base := s.base.Load(); {
	case top == nil && on != 0 && on == s.g && (labels == nil || labels == base):
		// A pprof.Do under s, with a context that does not carry s, left its own labels.
		top = s
	case top == nil || top.tag() != labels || top.live() || top.g != on:
		return
	}
	if top != s {
		top.settle()
	}
	before := top.base.Load() // before prev, see forget
	if p := top.prev.Load(); p != nil {
		before = p.tag()
	}
	setCurrent(before)
}

// merge returns list with the labels of add, which replace labels with the same key. Both are
// sorted by key without duplicates, and so is the result, as runtime/pprof requires.
func merge(list, add []Label) []Label {
	all := make([]Label, 0, len(list)+len(add))
	for _, l := range list {
		for len(add) > 0 && add[0].Key < l.Key {
			all, add = append(all, add[0]), add[1:]
		}
		if len(add) == 0 || add[0].Key != l.Key {
			all = append(all, l)
		}
	}
	return append(all, add...)
}

func (s *Span) live() bool { return s.ended.Load() == 0 }

func (s *Span) liveAt(at int64) bool {
	ended := s.ended.Load()
	return ended == 0 || at < max(ended, -ended)
}

// left reports whether goroutine g outlived the span under which g was started: the span's own
// goroutine ended the span, and g is another one. If another goroutine ended the span, left returns
// false, because the goroutine that began the span continues under the spans around it.
func (s *Span) left(g uint32) bool { return s.ended.Load() > 0 && s.g != g }

// next returns the span under s, or nil.
func (s *Span) next() *Span {
	base := s.base.Load() // before prev, see forget
	if p := s.prev.Load(); p != nil {
		return p
	}
	return find(base)
}

// nearest returns the span that the labels of s mean on a goroutine: the first open span of s and
// the chain below it. It returns nil if all have ended, or if the goroutine outlived one.
func (s *Span) nearest(g uint32) *Span {
	for s != nil && !s.live() {
		if s.left(g) {
			return nil
		}
		s = s.next()
	}
	return s
}

// settle removes ended spans from the chain under s, so that a goroutine whose spans end elsewhere
// does not keep them. It is called when a span ends and when another begins over it. An open span
// then keeps at most as many ended spans as were open together when it began.
func (s *Span) settle() {
	p := s.prev.Load()
	if p != nil && !p.live() {
		for p != nil && !p.live() {
			if p.left(s.g) {
				p = nil
			} else {
				p = p.prev.Load()
			}
		}
		s.prev.Store(p)
	}
	if p != nil {
		return
	}
	if r := find(s.base.Load()); r != nil && !r.live() {
		r.forget()
	}
}

// forget is settle for an ended span whose labels were merged with the program's labels. Merged
// labels name the span for good, and the chain below may have such labels, too. Readers of both
// fields read base first: prev is set before base changes.
func (s *Span) forget() {
	n := s.nearest(s.g)
	s.prev.Store(n)
	switch {
	case n != nil:
		s.base.Store(n.base.Load())
	case find(s.base.Load()) != nil:
		s.base.Store(nil)
	}
}

// Resolve returns the span of a sample and the labels of the program. tag is the label pointer of
// the sample. at is the time of the sample in nanoseconds on the runtime's monotonic clock. The
// caller must not change user.
//
// One span set the labels of the sample. The result depends on the state of this span at the time
// of the sample:
//
//   - If the span was open, Resolve returns the span.
//   - If the span had ended on the goroutine that began the span, Resolve returns nil. The sampled
//     goroutine outlived the span.
//   - If the span had ended on another goroutine, Resolve returns the nearest open outer span.
//
// If an outer span ended between at and the call, Resolve may skip this outer span.
func Resolve(tag unsafe.Pointer, at int64) (s *Span, user []Label) {
	list := (*set)(tag).labels()
	s = find((*set)(tag))
	if s == nil {
		return nil, list
	}
	user, g := users(list), s.g
	if s.ended.Load() > 0 && !s.liveAt(at) {
		return nil, user
	}
	for s != nil && !s.liveAt(at) {
		if s.left(g) {
			return nil, user
		}
		s = s.next()
	}
	return s, user
}

// Innermost returns the active span of the calling goroutine, or nil.
func Innermost() *Span { return find(current()).nearest(goroutine()) }

// Tag returns the label pointer of the calling goroutine. The samples of the goroutine contain the
// same pointer.
func Tag() unsafe.Pointer { return goruntime.Labels() }

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

// A Span is a span that labels goroutines, in one allocation. Its first field makes it labels as
// the runtime and runtime/pprof know them. When they merge it with the program's labels, the new
// set's strings still point into text. If the layout of labels is unknown, runtime/pprof makes the
// labels.
//
// Its methods may be called concurrently. The methods of a nil Span do nothing.
type Span struct {
	set
	own [3]Label // the list of a span on a goroutine without other labels
	// ended is when the span ended, by the clock of samples, negative if that was not on the
	// goroutine that began it; 0 while it has not.
	ended atomic.Int64
	text  text
	depth int32  // at least the length of the chain of prev
	g     uint32 // the goroutine that began it, see goroutine

	// The goroutine's labels before are prev or, without one, base: a set that is not a Span, or
	// nil. All in a chain of prev have the same base.
	prev atomic.Pointer[Span]
	base atomic.Pointer[set]

	pprof *pprofSet // its labels if the layout is unknown, else nil

	root    *Span // see Root: one that has no prev and no base that is a span's, not to keep more
	named   *Span // the one that this is another label of, nil for itself
	endName atomic.Pointer[string]
}

// maxDepth bounds a chain of prev, for programs that leave spans without an end on a goroutine. The
// span over a full chain restores its base. Chains are shorter for spans that a table keeps, see
// byTag.
const (
	maxDepth      = 1 << 10
	maxDepthPprof = 1 << 5
)

// Set labels the calling goroutine with a span that begins, until [Span.End]. Root tells that the
// span is a local root, which has no parent in this process. Set returns nil when no profiler wants
// labels, which costs a look at a counter, when the goroutine's labels do for this span, or when
// ctx comes from [Without]. It labels for any span: the caller leaves out those that are not
// sampled.
func Set(ctx context.Context, span trace.SpanContext, name string, root bool) *Span {
	if !Enabled() {
		return nil
	}
	return labelSpan(ctx, span, name, root)
}

// labelSpan is Set while a profiler wants labels. Set is apart to be inlined.
func labelSpan(ctx context.Context, span trace.SpanContext, name string, root bool) *Span {
	if _, ok := ctx.(without); ok {
		return nil
	}
	traceID, spanID, every := span.TraceID(), span.SpanID(), labels.every()
	var traceText [len(text{}.trace)]byte
	encode(traceText[:], traceID[:])
	g := goroutine()
	before := current()
	below := find(before)
	var around *Span // one of the same trace
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
			// not one that names another, which would make a chain
			s.named = cmp.Or(around.named, around)
		}
	}
	// One by one: the write barriers of a copy of all take longer.
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
	default: // children, which may live for longer, are not to keep what is around this one
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

// tag is the pointer by which the runtime has the span's labels.
func (s *Span) tag() *set {
	if s.pprof != nil {
		return s.pprof.tag
	}
	return &s.set
}

// ofTrace is the span of a trace that the goroutine works for: of those that have not ended the
// innermost, else what ctx carries; nil for none.
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

// plain reports whether labels has the labels of s and no others.
func (s *Span) plain(labels *set) bool {
	return s != nil && s.tag() == labels && len(s.list) == len(s.own)
}

// TraceID is the span's.
func (s *Span) TraceID() (id trace.TraceID) {
	_, _ = hex.Decode(id[:], s.text.trace[:])
	return id
}

// SpanID returns the span's id, or the local root's if s labels for the local root.
func (s *Span) SpanID() (id trace.SpanID) {
	_, _ = hex.Decode(id[:], s.text.span[:])
	return id
}

func (s *Span) begunName() string { return s.own[1].Value }

// over puts s over the labels that its goroutine has, which may be of the span below.
func (s *Span) over(before *set, below *Span) {
	if below == nil || below.tag() != before { // others' labels, with a span's among them or not
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
	if s.depth = below.depth + 1; s.depth >= most { // those that were taken out count no more
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

// End ends the span, with the name that it has then, "" if that is not known. On the goroutine that
// called Set, and on none else, it restores what was before, or of that what has not ended: also of
// spans above it that others ended. Further calls do nothing.
func (s *Span) End(name string) {
	if s != nil {
		s.end(goruntime.Nanotime(), name)
	}
}

// end is End at now by the clock of samples.
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
		// pprof.Do was under s with a context that does not carry it, and left its own.
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

// merge is list with add in place of labels of the same key. Both are sorted by key without
// duplicates, and so is the result, as runtime/pprof relies on.
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

// left reports whether goroutine g outlived the span that it was started under: the span's own
// goroutine ended it, and g is another one. If another goroutine ended the span, left returns
// false, because the goroutine that began the span continues under the spans around it.
func (s *Span) left(g uint32) bool { return s.ended.Load() > 0 && s.g != g }

// next is the span under s, nil if there is none.
func (s *Span) next() *Span {
	base := s.base.Load() // before prev, see forget
	if p := s.prev.Load(); p != nil {
		return p
	}
	return find(base)
}

// nearest returns the span that the labels of s mean on a goroutine: the first open one of s and
// the spans below it in the chain. It returns nil if all have ended, or if the goroutine outlived
// one.
func (s *Span) nearest(g uint32) *Span {
	for s != nil && !s.live() {
		if s.left(g) {
			return nil
		}
		s = s.next()
	}
	return s
}

// settle removes ended spans from the chain under s. So a goroutine whose spans end elsewhere does
// not keep them. It is called when a span ends and when another begins over it. An open span then
// keeps at most as many ended spans as were open together when it was begun over.
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

// forget does the same as settle for an ended span whose labels were merged with the program's
// labels. Merged labels name the span for good, and the chain below may have such labels, too. A
// reader of both fields reads base first: prev counts once it is set, and it is set before base
// changes.
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

// Resolve returns the span that a goroutine worked for at a time. Tag is the label pointer that the
// goroutine had, as samples of the runtime have it. At is by the runtime's monotonic clock, in
// nanoseconds. User are the program's own labels, not to be changed.
//
// The span is the one that set the labels. If that had ended on its own goroutine, the sampled
// goroutine has outlived it, and the span is nil. If it had ended elsewhere, the span is the
// nearest one around it that had not ended.
//
// A span around that ended between at and the call may have been forgotten; then it is the one
// around that.
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

// Innermost is the span that the calling goroutine works for, nil for none.
func Innermost() *Span { return find(current()).nearest(goroutine()) }

// Tag is the calling goroutine's labels as samples have them.
func Tag() unsafe.Pointer { return goruntime.Labels() }

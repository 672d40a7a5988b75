//go:build !go1.26 || go1.27 || perfline_portable

package labels

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Span is a span that labels goroutines, through runtime/pprof only: it cannot ask
// which labels a goroutine has, so they are taken to be those of the context given.
// A goroutine that others have labelled otherwise gets those when the span ends, and
// one that outlives its span keeps the span's, which nobody can tell from a span that
// goes on.
//
// Its methods may be called concurrently, and those of a nil Span do nothing.
type Span struct {
	goroutine uint64
	labels    pprof.LabelSet
	labelled  context.Context //nolint:containedctx // it carries the goroutine's labels while this is the innermost
	ended     atomic.Bool

	// What follows is guarded by goroutines.mu.
	prev   *Span           // around this one on its goroutine
	before context.Context //nolint:containedctx // it carries what is to be restored without a prev

	traceID [16]byte
	spanID  [8]byte
	name    string
	root    *Span // see Root: nothing but the ids and names
	named   *Span // the one that this is another label of, nil for itself
	endName atomic.Pointer[string]
}

// goroutines are the innermost spans of the goroutines that have any that have not
// ended.
var goroutines struct {
	mu   sync.Mutex // guards what follows, and fields of every Span
	span map[uint64]*Span
}

// Begin labels the calling goroutine with a span that begins, beside the labels that
// ctx carries; local tells that it is a local root, which has no parent in this process.
// It returns nil when goroutines are not labelled, or need not be for this one.
func Begin(ctx context.Context, traceID [16]byte, spanID [8]byte, name string, local bool) *Span {
	want := wanted.Load()
	if want == 0 {
		return nil
	}
	s := &Span{goroutine: goroutineID(), before: ctx, traceID: traceID, spanID: spanID, name: labelName(name)}
	if !local {
		around, innermost := ofTrace(ctx, traceID, s.goroutine)
		if innermost && want < everySpan {
			return nil
		}
		if around != nil {
			s.root = around.root
			if want < everySpan {
				s.named, s.spanID, s.name = s.root, s.root.spanID, s.root.name
			} else if around.spanID == spanID {
				s.named = cmp.Or(around.named, around) // not one that names another, which would make a chain
			}
		}
	}
	if s.root == nil {
		s.root = &Span{traceID: traceID, spanID: spanID, name: s.name}
		s.root.root = s.root
	}
	s.labels = pprof.Labels(spanIDKey, hex.EncodeToString(s.spanID[:]), spanNameKey, s.name, traceIDKey, hex.EncodeToString(traceID[:]))
	s.labelled = pprof.WithLabels(ctx, s.labels)
	g := &goroutines
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.span == nil {
		g.span = map[uint64]*Span{}
	}
	if s.prev = g.span[s.goroutine]; s.prev != nil {
		s.prev.settle()
	}
	g.span[s.goroutine] = s
	pprof.SetGoroutineLabels(s.labelled)
	return s
}

// ofTrace is the span of a trace that a goroutine works for: of those that have not ended
// the innermost, else what ctx carries; nil for none. innermost tells that no span
// of another trace is over it.
func ofTrace(ctx context.Context, traceID [16]byte, goroutine uint64) (s *Span, innermost bool) {
	goroutines.mu.Lock()
	defer goroutines.mu.Unlock()
	innermost = true
	for s = goroutines.span[goroutine]; s != nil; s = s.prev {
		if s.ended.Load() {
			continue
		}
		if s.traceID == traceID {
			return s, innermost
		}
		innermost = false
	}
	if s = FromContext(ctx); s != nil && s.traceID == traceID {
		return s, false
	}
	return nil, false
}

// TraceID is the span's.
func (s *Span) TraceID() [16]byte { return s.traceID }

// SpanID is the span's, or that of the local root if it labels for that.
func (s *Span) SpanID() [8]byte { return s.spanID }

func (s *Span) begunName() string { return s.name }

// settle takes spans that have ended out of the chain under s.
func (s *Span) settle() {
	for s.prev != nil && s.prev.ended.Load() {
		s.prev, s.before = s.prev.prev, s.prev.before
	}
}

// End ends the span, with the name that it has then, "" if that is not known. On the
// goroutine that began it, it restores the labels of the span around it or of the context
// given to Begin. Other goroutines keep their labels. Further calls do nothing.
func (s *Span) End(_ int64, name string) {
	if s == nil || s.ended.Load() {
		return
	}
	s.rename(name)
	if s.ended.Swap(true) {
		return
	}
	g := &goroutines
	g.mu.Lock()
	defer g.mu.Unlock()
	s.settle()
	if g.span[s.goroutine] != s {
		return
	}
	restored := s.before
	if s.prev == nil {
		delete(g.span, s.goroutine)
	} else {
		g.span[s.goroutine] = s.prev
		restored = s.prev.labelled
	}
	if s.goroutine == goroutineID() {
		pprof.SetGoroutineLabels(restored)
	}
}

// Innermost is the span that the calling goroutine works for, nil for none.
func Innermost() *Span {
	goroutines.mu.Lock()
	defer goroutines.mu.Unlock()
	return goroutines.span[goroutineID()]
}

// goroutineID is the number in "goroutine 7 [running]:".
func goroutineID() uint64 {
	var buf [64]byte
	_, rest, _ := bytes.Cut(buf[:runtime.Stack(buf[:], false)], []byte(" "))
	number, _, _ := bytes.Cut(rest, []byte(" "))
	id, _ := strconv.ParseUint(string(number), 10, 64) // 0 for all when it is written otherwise
	return id
}

// Resolve knows nothing: a label pointer cannot be read here.
func Resolve(unsafe.Pointer, int64) (*Span, []Label) { return nil, nil }

// Value is what a context over ctx that carries s answers for key. Such a context
// carries s as runtime/pprof has labels carried, so that pprof.Do under it adds to the
// span's labels, and restores them.
func Value(ctx context.Context, s *Span, key any) any {
	switch key {
	case spanKey{}:
		return s
	case labelsKey():
		return pprof.WithLabels(ctx, s.labels).Value(key)
	default:
		return ctx.Value(key)
	}
}

type spanKey struct{}

// FromContext is the span that ctx carries, nil for none or one that has ended.
func FromContext(ctx context.Context) *Span {
	if s, ok := ctx.Value(spanKey{}).(*Span); ok && !s.ended.Load() {
		return s
	}
	return nil
}

// Tag is nil: samples have the labels' text instead.
func Tag() unsafe.Pointer { return nil }

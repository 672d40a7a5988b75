package marks

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/observer"
)

// A Timing is a measure that has begun. End it once; further Ends do nothing.
// It may be ended on another goroutine than the one that began it.
//
// The pointer that Time and Start return does not escape by itself: a Timing
// that stays in its function costs no allocation.
type Timing struct {
	tl     *observer.Timeline // nil: nothing wants the measure
	scope  any
	name   string
	start  time.Duration
	ended  atomic.Bool
	opened bool // the scope is that of an interval which a bridge opened
	n      int  // attributes in attrs
	attrs  [observer.InlineAttrs]slog.Attr
	more   []slog.Attr
}

// Time begins a measure that End records. It is meant for a piece of work
// without children of its own:
//
//	defer marks.Time(ctx, "render").End()
//
// The span active in ctx now is the measure's parent. attrs are frozen now, if
// anything wants the measure; see [observer.Freeze].
func Time(ctx context.Context, name string, attrs ...slog.Attr) *Timing {
	t := new(Timing) // on the caller's stack: Time is inlined
	t.begin(ctx, name, attrs)
	return t
}

// Start begins a measure that other measures and spans may be children of: those
// made under the context it returns. attrs are frozen as by Time, before the measure
// begins.
//
//	ctx, t := marks.Start(ctx, "checkout")
//	defer t.End()
func Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Timing) {
	t := new(Timing)
	return t.open(ctx, name, attrs), t
}

func (t *Timing) begin(ctx context.Context, name string, attrs []slog.Attr) {
	tl := observer.FromContext(ctx)
	scope, ok := tl.Enter(ctx, observer.Measure)
	if !ok {
		return
	}
	t.scope = scope
	t.set(tl, name, attrs)
	t.start = tl.Now() // last, not to measure ourselves
}

func (t *Timing) open(ctx context.Context, name string, attrs []slog.Attr) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	tl := observer.FromContext(ctx)
	scope, ok := tl.Enter(ctx, observer.Measure)
	if !ok {
		return ctx
	}
	t.set(tl, name, attrs) // first: a method of an attribute may end the goroutine
	start := tl.Now()
	ctx, opened := tl.Start(ctx, name, start)
	if opened != nil {
		scope, t.opened = opened, true
	}
	t.scope = scope
	t.start = start
	return ctx
}

func (t *Timing) set(tl *observer.Timeline, name string, attrs []slog.Attr) {
	if len(attrs) > 0 {
		attrs = observer.Freeze(attrs)
	}
	t.tl = tl
	t.name = name
	t.n = copy(t.attrs[:], attrs)
	if len(attrs) > len(t.attrs) {
		t.more = append(t.more, attrs[len(t.attrs):]...)
	}
}

// End records the measure, with the attributes given when it began and those
// given now. It does so also if a method of an attribute calls [runtime.Goexit].
func (t *Timing) End(attrs ...slog.Attr) {
	if t == nil || t.tl == nil || t.ended.Swap(true) {
		return
	}
	duration := t.tl.Now() - t.start
	if t.opened {
		if o, ok := t.scope.(observer.Opened); ok {
			o.Ended()
		}
	}
	all := attrs
	if t.n > 0 {
		all = t.attrs[:t.n]
		if len(t.more) > 0 || len(attrs) > 0 {
			all = append(append(all, t.more...), attrs...) // in place while they fit
		}
	}
	t.tl.Record(t.scope, observer.Measure, t.name, t.start, duration, all)
}

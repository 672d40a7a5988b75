package marks

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// A Timing is a measure that has begun. Only the first End records the measure. A Timing may be
// ended on another goroutine.
//
// The pointer that Time and Start return does not escape by itself: a Timing that stays in its
// function costs no allocation.
type Timing struct {
	place   record.Place  // without a timeline if nothing wants the measure
	span    record.Opened // of Start, or nil
	failure *record.Failure
	name    string
	start   time.Duration
	ended   atomic.Bool
	n       int // the length of attrs
	attrs   [record.InlineAttrs]slog.Attr
	more    []slog.Attr
}

// Time begins a measure that End records, for a piece of work without children:
//
//	defer marks.Time(ctx, "render").End()
//
// The active span of ctx is the measure's parent. Time freezes attrs if anything wants the measure:
// package observer has the rules.
func Time(ctx context.Context, name string, attrs ...slog.Attr) *Timing {
	t := new(Timing) // on the caller's stack, because Time is inlined
	t.begin(ctx, name, attrs)
	return t
}

// Start begins a measure with children: the measures and spans under the returned context. Start
// freezes attrs as Time does, before the measure begins.
//
//	ctx, t := marks.Start(ctx, "checkout")
//	defer t.End()
func Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Timing) {
	t := new(Timing)
	return t.open(ctx, name, attrs), t
}

// StartJob begins an independent unit of work: a cron job, a message from a queue, a request in a
// protocol that perfline does not know. Its measure is the root of a new trace, whatever ctx
// belongs to. perfline keeps recent jobs in memory among the requests; a Start without a request is
// not among them. Otherwise StartJob is as [Start].
//
//	for msg := range messages {
//		ctx, t := marks.StartJob(ctx, "order.import")
//		t.Fail(handle(ctx, msg))
//		t.End()
//	}
//
// With OpenTelemetry's API, a span of kind consumer is a unit of work, and so is a root span with
// the attribute perfline.job, true. Such a span can continue the trace of a message.
func StartJob(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Timing) {
	return Start(record.Detached(ctx), name,
		append(attrs[:len(attrs):len(attrs)], slog.Bool(record.JobKey, true))...)
}

func (t *Timing) begin(ctx context.Context, name string, attrs []slog.Attr) {
	p := &t.place
	p.Locate(ctx)
	if !p.WantsMeasure(name) {
		p.Timeline = nil
		return
	}
	if len(attrs) > 0 {
		attrs = record.Freeze(attrs) // first: a method of an attribute may call Goexit
	}
	t.name = name
	t.n = copy(t.attrs[:], attrs)
	if len(attrs) > len(t.attrs) {
		t.more = append(t.more, attrs[len(t.attrs):]...)
	}
	t.start = p.Timeline.Now() // last, to exclude the work above
}

func (t *Timing) open(ctx context.Context, name string, attrs []slog.Attr) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if t.begin(ctx, name, attrs); t.place.Timeline != nil {
		ctx, t.span = t.place.Start(ctx, name, t.start)
	}
	return ctx
}

// Fail marks the work as failed. The measure's span gets the status Error with err's text, and an
// exception event, as in OpenTelemetry. The entry gets the text as the attribute "error". The last
// call counts. Fail does nothing if err is nil, or after End.
//
// Fail calls the method Error if anything wants the measure. A panic of Error becomes the text. If
// Error calls [runtime.Goexit], the text is "!GOEXIT".
func (t *Timing) Fail(err error) {
	if err == nil || t == nil || t.place.Timeline == nil || t.ended.Load() {
		return
	}
	t.failure = &record.Failure{At: time.Now(), Type: record.TypeName(err),
		Message: record.GoexitText}
	t.failure.Message = record.ErrorText(err)
}

// End records the measure and adds attrs, even if a method of an attribute calls [runtime.Goexit].
func (t *Timing) End(attrs ...slog.Attr) {
	if t == nil || t.place.Timeline == nil || t.ended.Swap(true) {
		return
	}
	duration := t.place.Timeline.Now() - t.start
	all := attrs
	if t.n > 0 {
		all = t.attrs[:t.n]
		if len(t.more) > 0 || len(attrs) > 0 {
			all = append(append(all, t.more...), attrs...) // without allocation while there is room
		}
	}
	if t.span == nil && t.failure == nil {
		t.place.Record(record.Measure, t.name, t.start, duration, all)
		return
	}
	t.place.End(t.span, t.name, t.start, duration, all, t.failure)
}

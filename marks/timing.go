package marks

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/record"
)

// A Timing is a measure that has begun. The first call of End records the measure. Further calls do
// nothing. Any goroutine may call End.
//
// A Timing that stays in one function causes no allocation, because Time and Start do not let the
// pointer escape.
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

// Time begins a measure that cannot contain children. [Timing.End] records the measure:
//
//	defer marks.Time(ctx, "render").End()
//
// The active span of ctx is the measure's parent. If an observer, a span or a histogram receives
// the measure, Time freezes attrs. Later changes of the values then have no effect. The
// documentation of package observer contains the rules.
func Time(ctx context.Context, name string, attrs ...slog.Attr) *Timing {
	t := new(Timing) // on the caller's stack, because Time is inlined
	t.begin(ctx, name, attrs)
	return t
}

// Start begins a measure that can contain children. Measures and spans under the returned context
// are the children. Like [Time], Start freezes attrs before the measure begins.
//
//	ctx, t := marks.Start(ctx, "checkout")
//	defer t.End()
func Start(ctx context.Context, name string, attrs ...slog.Attr) (context.Context, *Timing) {
	t := new(Timing)
	return t.open(ctx, name, attrs), t
}

// StartJob begins an independent unit of work. Examples are a cron job, a message from a queue, or
// a request in an unsupported protocol. The measure is the root of a new trace, even if ctx belongs
// to another trace. perfline stores recent jobs in memory together with the requests. perfline does
// not store measures of [Start] outside requests there. In all other respects, StartJob behaves
// like Start.
//
//	for msg := range messages {
//		ctx, t := marks.StartJob(ctx, "order.import")
//		t.Fail(handle(ctx, msg))
//		t.End()
//	}
//
// Some spans of OpenTelemetry's API also count as units of work: a span of kind consumer without a
// parent in this process, and a root span with the attribute perfline.job = true. Such a span can
// continue the trace of a message.
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

// Fail records that the work failed with err. The status of the measure's span becomes Error with
// err's text. Fail also adds an exception event to the span, as in OpenTelemetry. The attribute
// "error" of the entry contains the text. A later call replaces the error of an earlier call. Fail
// does nothing if err is nil, or after End.
//
// Fail calls err.Error if an observer, a span or a histogram receives the measure. If Error panics,
// the text describes the panic. If Error calls [runtime.Goexit], the text is "!GOEXIT".
func (t *Timing) Fail(err error) {
	if err == nil || t == nil || t.place.Timeline == nil || t.ended.Load() {
		return
	}
	t.failure = &record.Failure{At: time.Now(), Type: record.TypeName(err),
		Message: record.GoexitText}
	t.failure.Message = record.ErrorText(err)
}

// End records the measure with the additional attributes attrs. If a method of an attribute calls
// [runtime.Goexit], End still records the measure.
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

package bridge

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/attributes"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/spanconfig"
)

// A MarkForm says what marks become if a [LogOutput] is set. Without one, they are span events in
// every form. OpenTelemetry is to replace span events with log records that have an EventName (OTEP
// 4430).
type MarkForm uint8

// The forms. Marks that cannot be span events become log records in every form: marks under no span
// or a remote one, and marks made after their span's end. Other numbers are as SpanEvents.
const (
	SpanEvents MarkForm = iota // an event of its span
	// a log record with the mark's name as EventName, and the ids of its span
	LogRecords
	SpanEventsAndLogRecords // both
	markForms
)

// String returns span_events, log_records or both.
func (f MarkForm) String() string {
	if f >= markForms {
		return fmt.Sprintf("MarkForm(%d)", uint8(f))
	}
	return [markForms]string{"span_events", "log_records", "both"}[f]
}

// A LogOutput takes encoded log records. exporter.LogDelivery is one. Its methods may be called
// concurrently.
type LogOutput interface {
	// AcceptLogs takes log records. It runs on a goroutine that records a mark, or that hands over
	// spans: it must not block. After a panic, these records are lost. The bytes are valid during
	// the call only. [Records.Clone] is for an output that keeps bytes.
	AcceptLogs(Records)

	// ForceFlush and Shutdown are as in a span processor.
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

// LogLimits are the limits of a log record. A negative one means no limit.
type LogLimits struct {
	AttributeCount       int // attributes of a record
	AttributeValueLength int // characters of a text
}

// markLogs makes log records of marks. A nil one makes none.
type markLogs struct {
	timeline *record.Timeline // counts panics
	form     MarkForm
	output   LogOutput
	group    *otlpenc.Group
	limits   LogLimits
}

// newMarkLogs returns nil without an output.
func newMarkLogs(t *record.Timeline, form MarkForm, output LogOutput, limits *LogLimits,
	res *resource.Resource, groups *otlpenc.Groups) *markLogs {
	if output == nil {
		return nil
	}
	if form >= markForms {
		form = SpanEvents
	}
	if limits == nil {
		read := LogLimits(spanconfig.ReadLogLimits(environ.NewReader(nil)))
		limits = &read
	}
	group := groups.Group(cmp.Or(res, resource.Default()), scope.Scope())
	return &markLogs{timeline: t, form: form, output: output, group: group, limits: *limits}
}

// ofSpans returns l for marks of spans. If no output takes spans, marks cannot be events:
// SpanEventsAndLogRecords becomes LogRecords then.
func (l *markLogs) ofSpans(taken bool) *markLogs {
	if l == nil || taken || l.form != SpanEventsAndLogRecords {
		return l
	}
	only := *l
	only.form = LogRecords
	return &only
}

// taken returns the marks of a journal that become log records by themselves.
func (l *markLogs) taken() record.MarksTaken {
	switch {
	case l == nil:
		return record.NoMarks
	case l.form == SpanEvents:
		return record.LateMarks
	default:
		return record.AllMarks
	}
}

// replaces reports whether marks of exported spans are log records only.
func (l *markLogs) replaces() bool { return l != nil && l.form == LogRecords }

// wants reports whether a mark under a span with that context becomes a log record. event says that
// it is an event of the span already.
func (l *markLogs) wants(sc trace.SpanContext, event bool) bool {
	return l != nil && (l.form != SpanEvents || !event) && (!sc.IsValid() || sc.IsSampled())
}

// emit makes a log record of a mark, at once.
func (l *markLogs) emit(sc trace.SpanContext, name string, at time.Time, attrs []slog.Attr) {
	s := encodings.Get().(*encoding)
	defer s.free()
	s.bytes = s.writer.Next()
	s.appendLog(l, sc, name, at, attrs)
	s.acceptLogs(l, 1)
}

// acceptLogs gives the log records that were appended to the output.
func (s *encoding) acceptLogs(l *markLogs, count int) {
	records := s.writer.Records(otlpenc.NewRecords(l.group, s.bytes, count))
	l.timeline.Try("a LogOutput's AcceptLogs", func() { l.output.AcceptLogs(Records(records)) })
	records.Release()
}

// appendLog appends the log record of a mark.
func (s *encoding) appendLog(l *markLogs, sc trace.SpanContext, name string, at time.Time,
	attrs []slog.Attr) {
	r := otlpenc.LogRecord{Time: at, ObservedTime: at, EventName: name, SpanContext: sc}
	if l.limits.AttributeValueLength < 0 && admits(l.limits.AttributeCount, len(attrs)) &&
		otlpenc.Plain(attrs) {
		s.bytes = r.Append(s.bytes, attrs)
		return
	}
	n := len(s.attributes)
	s.attributes = attributes.AppendConverted(s.attributes, attrs)
	r.Attributes, r.DroppedAttributes = attributes.LimitList(s.attributes[n:],
		sdktrace.DefaultAttributeValueDepthLimit, l.limits.AttributeValueLength,
		l.limits.AttributeCount)
	s.bytes = r.Append(s.bytes, nil)
}

// handOverMarks gives the output the marks of a part that become log records by themselves.
func (s *encoding) handOverMarks(p *TracerProvider, finished *record.Finished) {
	if p.logs == nil {
		return
	}
	count := 0
	s.bytes = s.writer.Next()
	for i := range finished.Len() {
		m, under, ok := finished.Mark(i)
		if !ok {
			continue
		}
		span, ok := under.(*recordedSpan)
		if !ok {
			continue
		}
		s.appendLog(p.logs, s.contextOf(span), m.Name(), m.Time(), m.Attrs())
		count++
		if p.logs.form == LogRecords || m.Alone() {
			s.counts[markRecords]++
		}
	}
	if count > 0 {
		s.acceptLogs(p.logs, count)
	}
}

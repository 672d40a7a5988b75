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

// A MarkForm selects whether marks become span events or log records. Without a [LogOutput], marks
// always become span events. OpenTelemetry plans to replace span events with log records that
// contain an EventName (OTEP 4430).
type MarkForm uint8

// The forms of marks. In every form, a mark that cannot be a span event becomes a log record: a
// mark under no span or a remote span, and a mark after its span's end. Other numbers mean
// SpanEvents.
const (
	SpanEvents              MarkForm = iota // an event of the mark's span
	LogRecords                              // a log record: EventName is the mark's name
	SpanEventsAndLogRecords                 // both
	markForms
)

// String returns span_events, log_records or both.
func (f MarkForm) String() string {
	if f >= markForms {
		return fmt.Sprintf("MarkForm(%d)", uint8(f))
	}
	return [markForms]string{"span_events", "log_records", "both"}[f]
}

// A LogOutput receives encoded log records. An example is exporter.LogDelivery. All methods may be
// called concurrently.
type LogOutput interface {
	// AcceptLogs receives log records. AcceptLogs must not block, because the caller is a goroutine
	// that records a mark or hands over spans. If AcceptLogs panics, the records are lost. The
	// bytes are valid only during the call. An output that retains the bytes calls [Records.Clone].
	AcceptLogs(Records)

	// ForceFlush and Shutdown behave as in a span processor.
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

// LogLimits are the limits of a log record. A negative limit means no limit.
type LogLimits struct {
	AttributeCount       int // attributes of a record
	AttributeValueLength int // characters of a text
}

// A markLogs makes log records from marks. A nil markLogs, for a nil output, makes none.
type markLogs struct {
	timeline *record.Timeline // counts panics
	form     MarkForm
	output   LogOutput
	group    *otlpenc.Group
	limits   LogLimits
}

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

// forSpans returns the markLogs for marks under spans. Without an output for spans, marks cannot be
// span events: the form SpanEventsAndLogRecords becomes LogRecords.
func (l *markLogs) forSpans(hasOutputs bool) *markLogs {
	if l == nil || hasOutputs || l.form != SpanEventsAndLogRecords {
		return l
	}
	logs := *l
	logs.form = LogRecords
	return &logs
}

// logMarks returns the marks of a journal that become log records.
func (l *markLogs) logMarks() record.MarksTaken {
	switch {
	case l == nil:
		return record.NoMarks
	case l.form == SpanEvents:
		return record.LateMarks
	default:
		return record.AllMarks
	}
}

// replacesEvents reports whether marks of exported spans are log records only.
func (l *markLogs) replacesEvents() bool { return l != nil && l.form == LogRecords }

// makesRecord reports whether a mark under a span with the context sc becomes a log record. event
// says that the mark already is an event of the span.
func (l *markLogs) makesRecord(sc trace.SpanContext, event bool) bool {
	return l != nil && (l.form != SpanEvents || !event) && (!sc.IsValid() || sc.IsSampled())
}

func (l *markLogs) emit(sc trace.SpanContext, name string, at time.Time, attrs []slog.Attr) {
	s := encoders.Get().(*encoder)
	defer s.free()
	s.bytes = s.writer.Next()
	s.appendLog(l, sc, name, at, attrs)
	s.acceptLogs(l, 1)
}

func (s *encoder) acceptLogs(l *markLogs, count int) {
	records := s.writer.Records(otlpenc.NewRecords(l.group, s.bytes, count))
	l.timeline.Try("a LogOutput's AcceptLogs", func() { l.output.AcceptLogs(Records(records)) })
	records.Release()
}

func (s *encoder) appendLog(l *markLogs, sc trace.SpanContext, name string, at time.Time,
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

// handOverMarks hands the marks of a part that become log records to the output.
func (s *encoder) handOverMarks(p *TracerProvider, finished *record.Finished) {
	if p.logs == nil {
		return
	}
	count := 0
	s.bytes = s.writer.Next()
	for i := range finished.Len() {
		m, parent, _ := finished.Mark(i)
		span, ok := parent.(*recordedSpan)
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

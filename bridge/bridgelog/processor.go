package bridgelog

import (
	"context"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A Pipeline provides the output and the resource of log records. A *perfline.Pipeline implements
// Pipeline. Logs returns nil if log records are not exported.
type Pipeline interface {
	Logs() bridge.LogOutput
	Resource() *resource.Resource
}

// NewLoggerProvider returns a provider that delivers log records through p, with p's resource. The
// documentation of [NewProcessor] describes which records are delivered. If p does not export log
// records, all loggers are disabled. Records after the shutdown of p count as dropped.
func NewLoggerProvider(p Pipeline, level slog.Leveler) *sdklog.LoggerProvider {
	return sdklog.NewLoggerProvider(sdklog.WithResource(p.Resource()),
		sdklog.WithProcessor(NewProcessor(p.Logs(), level)))
}

// NewProcessor returns a processor that encodes log records and passes the records to out. The
// processor does this work on the goroutine that emits the record.
//
// The processor delivers records with a severity of at least level, and records without a severity.
// A nil level means [slog.LevelInfo]. Levels are converted as in OpenTelemetry's slog bridge:
// [slog.LevelWarn] becomes WARN.
//
//   - Encoding does not lock. Encoding allocates only for lists, maps, bytes and text with invalid
//     UTF-8.
//   - ForceFlush and Shutdown call out's ForceFlush. Shutdown does not shut out down, because spans
//     or marks may also use out.
//   - If out is nil, the processor delivers no records.
func NewProcessor(out bridge.LogOutput, level slog.Leveler) sdklog.Processor {
	if level == nil {
		level = slog.LevelInfo
	}
	return &processor{out: out, level: level}
}

type processor struct {
	out    bridge.LogOutput // may be nil
	level  slog.Leveler
	groups otlpenc.Groups
	pool   sync.Pool // of *scratch
}

// A scratch is the memory for one record.
type scratch struct {
	attrs []attribute.KeyValue
	bytes []byte
}

// The pool does not take larger memory.
const (
	maxScratchAttrs = 128 // the SDK's default limit
	maxScratchBytes = 64 << 10
)

// accepts reports whether records of a severity are delivered. SeverityInfo is 9, slog's is 0.
func (p *processor) accepts(s log.Severity) bool {
	return p.out != nil &&
		(s == log.SeverityUndefined || slog.Level(s-log.SeverityInfo) >= p.level.Level())
}

func (p *processor) Enabled(_ context.Context, param sdklog.EnabledParameters) bool {
	return p.accepts(param.Severity)
}

// OnEmit encodes the record and passes the record to out. OnEmit always returns nil, because out
// counts lost records.
func (p *processor) OnEmit(_ context.Context, r *sdklog.Record) error {
	if !p.accepts(r.Severity()) {
		return nil
	}
	s, ok := p.pool.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	attrs := s.attrs[:0]
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		attrs = append(attrs, kv)
		return true
	})
	record := otlpenc.LogRecord{
		Time: r.Timestamp(), ObservedTime: r.ObservedTimestamp(),
		Severity: int(min(r.Severity(), log.SeverityFatal4)), SeverityText: r.SeverityText(),
		EventName: r.EventName(), Body: r.Body(), Attributes: attrs,
		DroppedAttributes: r.DroppedAttributes(),
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: r.TraceID(),
			SpanID: r.SpanID(), TraceFlags: r.TraceFlags()}),
	}
	b := record.Append(s.bytes[:0], nil)
	group := p.groups.Group(r.Resource(), r.InstrumentationScope())
	p.out.AcceptLogs(bridge.Records(otlpenc.NewRecords(group, b[:len(b):len(b)], 1)))
	if cap(attrs) <= maxScratchAttrs && cap(b) <= maxScratchBytes {
		clear(attrs) // frees the program's values
		s.attrs, s.bytes = attrs, b
		p.pool.Put(s)
	}
	return nil
}

// ForceFlush delivers all records that were emitted before the call.
func (p *processor) ForceFlush(ctx context.Context) error {
	if p.out == nil {
		return nil
	}
	return p.out.ForceFlush(ctx)
}

// Shutdown delivers all records that were emitted before the call. Shutdown does not shut out down.
func (p *processor) Shutdown(ctx context.Context) error { return p.ForceFlush(ctx) }

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

// A Pipeline has the destination of log records, and the resource that they are about. A
// *perfline.Pipeline is one. Logs returns nil if log records are not exported.
type Pipeline interface {
	Logs() bridge.LogOutput
	Resource() *resource.Resource
}

// NewLoggerProvider returns a provider whose log records p delivers, with p's resource.
// [NewProcessor] says which; if p exports no log records, all loggers are disabled. Records that
// come after the shutdown of p count as dropped.
func NewLoggerProvider(p Pipeline, level slog.Leveler) *sdklog.LoggerProvider {
	return sdklog.NewLoggerProvider(sdklog.WithResource(p.Resource()),
		sdklog.WithProcessor(NewProcessor(p.Logs(), level)))
}

// NewProcessor returns a processor that encodes log records on the goroutine that emits them, and
// hands them to out at once. It takes records of the severity that corresponds to level and above,
// and records without a severity; nil means [slog.LevelInfo]. The other slog levels correspond as
// in OpenTelemetry's bridge: [slog.LevelWarn] is WARN.
//
//   - A record is encoded without a lock, and without an allocation unless it has lists, maps,
//     bytes or text that is not UTF-8.
//   - ForceFlush and Shutdown call out's ForceFlush. They do not shut out down, because spans or
//     marks may use it too.
//   - If out is nil, the processor takes no records.
func NewProcessor(out bridge.LogOutput, level slog.Leveler) sdklog.Processor {
	if level == nil {
		level = slog.LevelInfo
	}
	return &processor{out: out, level: level}
}

type processor struct {
	out    bridge.LogOutput // nil: records go nowhere
	level  slog.Leveler
	groups otlpenc.Groups
	pool   sync.Pool // of *scratch
}

// A scratch has the memory that a record needs until out has it.
type scratch struct {
	attrs []attribute.KeyValue
	bytes []byte
}

// Larger memory is not used again.
const (
	maxScratchAttrs = 128 // the SDK's limit of attributes, by default
	maxScratchBytes = 64 << 10
)

// takes reports whether a severity is delivered. Severities are nine above the levels of slog.
func (p *processor) takes(s log.Severity) bool {
	return p.out != nil &&
		(s == log.SeverityUndefined || slog.Level(s-log.SeverityInfo) >= p.level.Level())
}

// Enabled reports whether records of the severity are delivered.
func (p *processor) Enabled(_ context.Context, param sdklog.EnabledParameters) bool {
	return p.takes(param.Severity)
}

// OnEmit hands the record to out. It returns no error: out counts losses.
func (p *processor) OnEmit(_ context.Context, r *sdklog.Record) error {
	if !p.takes(r.Severity()) {
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
		clear(attrs) // which keep values of the program in memory
		s.attrs, s.bytes = attrs, b
		p.pool.Put(s)
	}
	return nil
}

// ForceFlush delivers the records that were emitted before.
func (p *processor) ForceFlush(ctx context.Context) error {
	if p.out == nil {
		return nil
	}
	return p.out.ForceFlush(ctx)
}

// Shutdown delivers the records that were emitted before, and leaves out open.
func (p *processor) Shutdown(ctx context.Context) error { return p.ForceFlush(ctx) }

//go:build !race

// The race detector allocates on its own account.

package bridgelog_test

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgelog"
)

// A mute span is recording and forgets its events, so that only the bridge's allocations count.
type mute struct {
	trace.Span
	sc trace.SpanContext
}

func (mute) IsRecording() bool                     { return true }
func (m mute) SpanContext() trace.SpanContext      { return m.sc }
func (mute) AddEvent(string, ...trace.EventOption) {}

// The budget of the bridge: nothing for records that it does not bridge, and four allocations for an event, one of them for all attributes.
func TestEventBridgeAllocs(t *testing.T) {
	recording := trace.ContextWithSpan(t.Context(), mute{noop.Span{}, foreign})
	remote := trace.ContextWithRemoteSpanContext(t.Context(), foreign)
	attrs := []attribute.KeyValue{
		attribute.Int("a", 1), attribute.String("b", "text"), attribute.Bool("c", true), attribute.Float64("d", 1), attribute.Map("e", attribute.Int("f", 1)),
	}
	bridging := bridgelog.NewEventBridge()
	for _, c := range []struct {
		name   string
		ctx    context.Context
		record log.Record
		want   float64
	}{
		{"a record that is no event", recording, event("", attrs...), 0},
		{"without a span", t.Context(), event("e", attrs...), 0},
		{"under a remote span", remote, event("e", attrs...), 0},
		{"an event without attributes", recording, event("e"), 2},
		{"an event with attributes", recording, event("e", attrs...), 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got float64
			logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(hook(func(ctx context.Context, r *sdklog.Record) {
				got = testing.AllocsPerRun(100, func() { _ = bridging.OnEmit(ctx, r) })
			})))
			logs.Logger("test").Emit(c.ctx, c.record)
			if got != c.want {
				t.Errorf("%v allocations, want %v", got, c.want)
			}
		})
	}
}

// The budget of the processor: nothing, unless an attribute is a list, a map or bytes.
func TestProcessorAllocs(t *testing.T) {
	attrs := []attribute.KeyValue{
		attribute.Int("a", 1), attribute.String("b", "text"), attribute.Bool("c", true), attribute.Float64("d", 1), attribute.String("e", "f"), attribute.Int("g", 7),
	}
	p := bridgelog.NewProcessor(nothing{}, nil)
	for _, c := range []struct {
		name   string
		record log.Record
	}{
		{"without attributes", event("")},
		{"with attributes", event("e", attrs...)},
		{"below the level", func() log.Record {
			r := event("", attrs...)
			r.SetSeverity(log.SeverityDebug)
			return r
		}()},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got float64
			logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(hook(func(ctx context.Context, r *sdklog.Record) {
				got = testing.AllocsPerRun(100, func() { _ = p.OnEmit(ctx, r) })
			})))
			logs.Logger("test").Emit(trace.ContextWithRemoteSpanContext(t.Context(), foreign), c.record)
			if got != 0 {
				t.Errorf("%v allocations, want none", got)
			}
		})
	}
}

// nothing forgets the records that it is given.
type nothing struct{}

func (nothing) AcceptLogs(bridge.Records)        {}
func (nothing) ForceFlush(context.Context) error { return nil }
func (nothing) Shutdown(context.Context) error   { return nil }

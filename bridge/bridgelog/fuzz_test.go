package bridgelog_test

import (
	"bytes"
	"context"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/spanfuzz"
)

// A listener is a span that keeps the events it is given.
type listener struct {
	trace.Span
	sc        trace.SpanContext
	recording bool
	names     []string
	configs   []trace.EventConfig
}

func (l *listener) IsRecording() bool              { return l.recording }
func (l *listener) SpanContext() trace.SpanContext { return l.sc }
func (l *listener) AddEvent(name string, options ...trace.EventOption) {
	l.names, l.configs = append(l.names, name), append(l.configs, trace.NewEventConfig(options...))
}

// Any record becomes a span event exactly if the rules ask for it, and then has the record's name, time and attributes.
func FuzzEventBridge(f *testing.F) {
	for _, seed := range []string{"", "\x01", "\x06\x03abc\x01\x04\x07abcdefghijklmnopqrstuvw", "\x05\x05\x05\x00\x03\x06\x0b\x02\x0a\x0c\x09zyxwvutsrqponmlkjihgfedcba9876543210"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &spanfuzz.Source{Data: data, MaxDepth: 10}
		span := &listener{Span: noop.Span{}, sc: s.Context(), recording: s.Below(4) > 0}
		ids := span.sc
		if s.Below(4) == 0 {
			ids = s.Context()
		}
		name, at, seen := s.Text(), s.Time(), s.Time()
		var r log.Record
		r.AddAttributes(s.Attributes(0)...)
		var want []attribute.KeyValue
		sdklog.NewLoggerProvider(
			sdklog.WithProcessor(hook(func(_ context.Context, r *sdklog.Record) {
				r.SetEventName(name)
				r.SetTimestamp(at)
				r.SetObservedTimestamp(seen)
				r.SetTraceID(ids.TraceID())
				r.SetSpanID(ids.SpanID())
				r.WalkAttributes(func(kv attribute.KeyValue) bool {
					want = append(want, kv)
					return true
				})
			})),
			sdklog.WithProcessor(bridgelog.NewEventBridge()),
		).Logger("test").Emit(trace.ContextWithSpan(t.Context(), span), r)

		if bridged := name != "" && ids.IsValid() && span.recording && ids.TraceID() == span.sc.TraceID() && ids.SpanID() == span.sc.SpanID(); !bridged {
			if len(span.names) != 0 {
				t.Fatalf("there are events %q, want none", span.names)
			}
			return
		}
		if len(span.names) != 1 || span.names[0] != name {
			t.Fatalf("events are %q, want one, %q", span.names, name)
		}
		if at.IsZero() {
			at = seen
		}
		got := span.configs[0]
		if !at.IsZero() && !got.Timestamp().Equal(at) {
			t.Errorf("the time is %v, want %v", got.Timestamp(), at)
		}
		if !bytes.Equal(otlpwire.AppendAttributes(nil, 0, got.Attributes(), 0), otlpwire.AppendAttributes(nil, 0, want, 0)) {
			t.Errorf("attributes are\n%v, want\n%v", got.Attributes(), want)
		}
	})
}

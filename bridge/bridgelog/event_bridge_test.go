package bridgelog_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge/bridgelog"
)

var (
	moment   = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	observed = moment.Add(time.Second)
	foreign  = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
)

// event returns a log event.
func event(name string, attrs ...attribute.KeyValue) (r log.Record) {
	r.SetEventName(name)
	r.SetTimestamp(moment)
	r.SetObservedTimestamp(observed)
	r.SetSeverity(log.SeverityInfo)
	r.SetSeverityText("INFO")
	r.SetBody(attribute.StringValue("body"))
	r.AddAttributes(attrs...)
	return r
}

// The rules of the specification for when a record becomes a span event. Each case emits a record with an open span, whose events
// it then counts.
func TestConditions(t *testing.T) {
	for _, c := range []struct {
		name   string
		record log.Record
		change func(*sdklog.Record, trace.SpanContext)             // by a processor before the bridge; the open span's
		ctx    func(context.Context, trace.Tracer) context.Context // to emit with, of the open span's; nil means the same
		want   bool
	}{
		{name: "if and only if all of the following conditions are met: all are", record: event("e"), want: true},
		{name: "1 non-empty Event Name: a record that is no event", record: event("")},
		{name: "1 non-empty Event Name: another processor takes the name", record: event("e"), change: func(r *sdklog.Record, _ trace.SpanContext) { r.SetEventName("") }},
		{name: "1 non-empty Event Name: another processor gives the name", record: event(""), change: func(r *sdklog.Record, _ trace.SpanContext) { r.SetEventName("e") }, want: true},
		{name: "2 valid TraceId and SpanId: no trace id", record: event("e"), change: func(r *sdklog.Record, _ trace.SpanContext) { r.SetTraceID(trace.TraceID{}) }},
		{name: "2 valid TraceId and SpanId: no span id", record: event("e"), change: func(r *sdklog.Record, _ trace.SpanContext) { r.SetSpanID(trace.SpanID{}) }},
		{name: "3 a current span whose IsRecording is true: no span", record: event("e"), ctx: func(context.Context, trace.Tracer) context.Context {
			return context.Background()
		}},
		{name: "3 a current span whose IsRecording is true: a remote span", record: event("e"), ctx: func(context.Context, trace.Tracer) context.Context {
			return trace.ContextWithRemoteSpanContext(context.Background(), foreign)
		}},
		{name: "3 a current span whose IsRecording is true: a span of no provider", record: event("e"), ctx: func(ctx context.Context, _ trace.Tracer) context.Context {
			ctx, _ = noop.NewTracerProvider().Tracer("").Start(ctx, "noop")
			return ctx
		}},
		{name: "3 a current span whose IsRecording is true: a span that ended", record: event("e"), ctx: func(ctx context.Context, tracer trace.Tracer) context.Context {
			ctx, span := tracer.Start(ctx, "ended")
			span.End()
			return ctx
		}},
		{name: "4 the ids of the current span: another trace", record: event("e"), change: func(r *sdklog.Record, _ trace.SpanContext) { r.SetTraceID(foreign.TraceID()) }},
		{name: "4 the ids of the current span: another span of the trace", record: event("e"), change: func(r *sdklog.Record, _ trace.SpanContext) { r.SetSpanID(foreign.SpanID()) }},
		{name: "4 the ids of the current span: the parent of the current span", record: event("e"), ctx: func(ctx context.Context, tracer trace.Tracer) context.Context {
			ctx, _ = tracer.Start(ctx, "child")
			return ctx
		}, change: func(r *sdklog.Record, parent trace.SpanContext) { r.SetSpanID(parent.SpanID()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, tracer trace.Tracer, ended *tracetest.SpanRecorder) {
				ctx, span := tracer.Start(t.Context(), "span")
				var before, after records
				logs := sdklog.NewLoggerProvider(
					sdklog.WithProcessor(hook(func(ctx context.Context, r *sdklog.Record) {
						if c.change != nil {
							c.change(r, span.SpanContext())
						}
						before.add(ctx, r)
					})),
					sdklog.WithProcessor(bridgelog.NewEventBridge()),
					sdklog.WithProcessor(hook(after.add)))
				emitting := ctx
				if c.ctx != nil {
					emitting = c.ctx(ctx, tracer)
				}
				logs.Logger("test").Emit(emitting, c.record)
				current := trace.SpanFromContext(emitting)
				current.End()
				span.End()

				var events []string
				for _, s := range ended.Ended() {
					for _, e := range s.Events() {
						events = append(events, s.Name()+": "+e.Name)
					}
				}
				var want []string
				if c.want {
					want = []string{"span: e"} // exactly one
				}
				if !slices.Equal(events, want) {
					t.Errorf("events are %q, want %q", events, want)
				}
				// 10: MUST NOT prevent the record from continuing, whether or not it became an event.
				if len(after.all) != 1 || !reflect.DeepEqual(before.all, after.all) {
					t.Errorf("after the bridge there is %+v, before it was %+v", after.all, before.all)
				}
			})
		})
	}
}

// Under a span that the sampler drops, nothing is bridged.
func TestUnsampledSpan(t *testing.T) {
	for name, start := range newTracers {
		t.Run(name, func(t *testing.T) {
			tracer := start(t, sdktrace.NeverSample(), tracetest.NewSpanRecorder()).Tracer("test")
			ctx, span := tracer.Start(t.Context(), "span")
			defer span.End()
			logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewEventBridge()))
			l := logs.Logger("test")
			l.Emit(ctx, event("e"))
			if l.Enabled(ctx, log.EnabledParameters{EventName: "e"}) {
				t.Error("the logger is enabled, but nothing can become an event")
			}
		})
	}
}

// Ids that are not valid are never bridged, also under a recording span that has the same ones.
func TestInvalidIDs(t *testing.T) {
	for _, c := range []struct {
		name string
		sc   trace.SpanContextConfig
		want int
	}{
		{"2 valid TraceId and SpanId: both are", trace.SpanContextConfig{TraceID: foreign.TraceID(), SpanID: foreign.SpanID()}, 1},
		{"2 valid TraceId and SpanId: no trace id", trace.SpanContextConfig{SpanID: foreign.SpanID()}, 0},
		{"2 valid TraceId and SpanId: no span id", trace.SpanContextConfig{TraceID: foreign.TraceID()}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			span := &listener{Span: noop.Span{}, sc: trace.NewSpanContext(c.sc), recording: true}
			sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewEventBridge())).Logger("test").Emit(trace.ContextWithSpan(t.Context(), span), event("e"))
			if len(span.names) != c.want {
				t.Errorf("%d events, want %d", len(span.names), c.want)
			}
		})
	}
}

// A record becomes one span event, with its name, its time and its attributes.
func TestMapping(t *testing.T) {
	kinds := []attribute.KeyValue{
		attribute.Bool("bool", true), attribute.Int64("int", -1), attribute.Float64("float", 1.5), attribute.String("string", "s"),
		attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{1, 2}), attribute.Float64Slice("floats", []float64{1, 2}),
		attribute.StringSlice("strings", []string{"a", "b"}), attribute.ByteSlice("bytes", []byte{0, 255}),
		attribute.Slice("slice", attribute.IntValue(1), attribute.MapValue(attribute.Bool("in", true)), attribute.Value{}),
		attribute.Map("map", attribute.String("a", "b"), attribute.Map("deeper", attribute.Int("c", 3)), attribute.Slice("list", attribute.Value{})),
		{Key: "empty"}, attribute.Slice("empty slice"), attribute.Map("empty map"), attribute.String("empty string", ""), attribute.ByteSlice("no bytes", nil),
	}
	for _, c := range []struct {
		name   string
		record log.Record
		change func(*sdklog.Record)
		want   sdktrace.Event // without a time, the time is of the call
	}{
		{"6 exactly one span event", event("e"), nil, sdktrace.Event{Name: "e", Time: moment}},
		{"7 the name is the Event Name", event("a name\nof two lines"), nil, sdktrace.Event{Name: "a name\nof two lines", Time: moment}},
		{"8 a Timestamp is the time", event("e"), nil, sdktrace.Event{Name: "e", Time: moment}},
		{"8 without it, the ObservedTimestamp is", event("e"), func(r *sdklog.Record) { r.SetTimestamp(time.Time{}) }, sdktrace.Event{Name: "e", Time: observed}},
		{"8 without both, it is now", event("e"), func(r *sdklog.Record) { r.SetTimestamp(time.Time{}); r.SetObservedTimestamp(time.Time{}) }, sdktrace.Event{Name: "e"}},
		{"9 all attributes are copied", event("e", kinds...), nil, sdktrace.Event{Name: "e", Time: moment, Attributes: kinds}},
		{"9 attributes of another processor are, too", event("e"), func(r *sdklog.Record) { r.AddAttributes(attribute.Int("added", 1)) },
			sdktrace.Event{Name: "e", Time: moment, Attributes: []attribute.KeyValue{attribute.Int("added", 1)}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, tracer trace.Tracer, ended *tracetest.SpanRecorder) {
				logs := sdklog.NewLoggerProvider(
					sdklog.WithProcessor(hook(func(_ context.Context, r *sdklog.Record) {
						if c.change != nil {
							c.change(r)
						}
					})),
					sdklog.WithProcessor(bridgelog.NewEventBridge()))
				ctx, span := tracer.Start(t.Context(), "span")
				began := time.Now()
				logs.Logger("test").Emit(ctx, c.record)
				span.End()
				got := ended.Ended()[0].Events()
				if len(got) != 1 {
					t.Fatalf("%d events, want 1: %v", len(got), got)
				}
				want := c.want
				if want.Time.IsZero() {
					if got[0].Time.Before(began) {
						t.Errorf("time is %v, want one after %v", got[0].Time, began)
					}
					want.Time = got[0].Time
				}
				if len(got[0].Attributes) == 0 && len(want.Attributes) == 0 {
					got[0].Attributes = nil
				}
				if !reflect.DeepEqual(got[0], want) {
					t.Errorf("event is\n%+v, want\n%+v", got[0], want)
				}
			})
		})
	}
}

// Enabled is false only if it is certain that no record of the context becomes an event.
func TestEventBridgeEnabled(t *testing.T) {
	overBoth(t, func(t *testing.T, tracer trace.Tracer, _ *tracetest.SpanRecorder) {
		recording, span := tracer.Start(t.Context(), "open")
		defer span.End()
		ended, other := tracer.Start(t.Context(), "ended")
		other.End()
		l := sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewEventBridge()), sdklog.WithProcessor(hook(func(context.Context, *sdklog.Record) {}))).Logger("test")
		for _, c := range []struct {
			name string
			ctx  context.Context
			p    log.EnabledParameters
			want bool
		}{
			{"an event under an open span", recording, log.EnabledParameters{EventName: "e"}, true},
			{"a name may come later", recording, log.EnabledParameters{Severity: log.SeverityDebug}, true},
			{"an event without a span", t.Context(), log.EnabledParameters{EventName: "e"}, false},
			{"an event under a remote span", trace.ContextWithRemoteSpanContext(t.Context(), foreign), log.EnabledParameters{EventName: "e"}, false},
			{"an event under a span that ended", ended, log.EnabledParameters{EventName: "e"}, false},
		} {
			if got := l.Enabled(c.ctx, c.p); got != c.want {
				t.Errorf("%s: Enabled is %t, want %t", c.name, got, c.want)
			}
		}
	})
}

// The record's attributes may change after the call: the event has its own.
func TestEventHasItsOwnAttributes(t *testing.T) {
	overBoth(t, func(t *testing.T, tracer trace.Tracer, ended *tracetest.SpanRecorder) {
		logs := sdklog.NewLoggerProvider(
			sdklog.WithProcessor(bridgelog.NewEventBridge()),
			sdklog.WithProcessor(hook(func(_ context.Context, r *sdklog.Record) {
				r.AddAttributes(attribute.String("a", "changed"), attribute.String("more", ""))
			})))
		ctx, span := tracer.Start(t.Context(), "span")
		logs.Logger("test").Emit(ctx, event("e", attribute.String("a", "first")))
		span.End()
		if got := ended.Ended()[0].Events()[0].Attributes; len(got) != 1 || got[0].Value.AsString() != "first" {
			t.Errorf("attributes are %v, want the first ones", got)
		}
	})
}

// Many goroutines emit events under one span while it ends. Each record becomes one event at most, and goes on.
func TestConcurrently(t *testing.T) {
	overBoth(t, func(t *testing.T, tracer trace.Tracer, ended *tracetest.SpanRecorder) {
		const goroutines, each = 8, 10
		var after records
		l := sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewEventBridge()), sdklog.WithProcessor(hook(after.add))).Logger("test")
		ctx, span := tracer.Start(t.Context(), "span")
		l.Emit(ctx, event("first"))
		var all sync.WaitGroup
		for g := range goroutines {
			all.Go(func() {
				for i := range each {
					l.Emit(ctx, event("e", attribute.Int("number", g*each+i)))
				}
			})
		}
		all.Go(func() { span.End() })
		all.Wait()
		seen := map[int64]bool{}
		events := ended.Ended()[0].Events()
		for _, e := range events[1:] {
			n := e.Attributes[0].Value.AsInt64()
			if seen[n] {
				t.Errorf("event %d came twice", n)
			}
			seen[n] = true
		}
		if events[0].Name != "first" || len(after.all) != goroutines*each+1 {
			t.Errorf("the first event is %q, and %d records went on, want %d", events[0].Name, len(after.all), goroutines*each+1)
		}
	})
}

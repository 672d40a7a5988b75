package otlpenc_test

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// A random makes spans of bytes. Without further bytes everything is zero.
type random struct {
	data      []byte
	resources []*resource.Resource
	scopes    []instrumentation.Scope
	repaired  bool // a map has a key that is not UTF-8, which may come at another place when it is repaired
}

func (r *random) byte() byte {
	if len(r.data) == 0 {
		return 0
	}
	b := r.data[0]
	r.data = r.data[1:]
	return b
}

func (r *random) below(n int) int { return int(r.byte()) % n }

func (r *random) number() int64 {
	switch r.below(6) {
	case 0:
		return 0
	case 1:
		return int64(r.byte())
	case 2:
		return -int64(r.byte())
	case 3:
		return math.MaxInt64
	case 4:
		return math.MinInt64
	default:
		var b [8]byte
		for i := range b {
			b[i] = r.byte()
		}
		return int64(binary.LittleEndian.Uint64(b[:]))
	}
}

func (r *random) float() float64 {
	if r.below(4) == 0 {
		return math.NaN()
	}
	return math.Float64frombits(uint64(r.number()))
}

func (r *random) text() string {
	switch r.below(8) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("é", int(r.byte())) // around a length of 128
	case 2:
		if r.below(16) > 0 { // not often, because it takes long
			return "x"
		}
		return strings.Repeat("x", int(r.byte())*100) // around 16 384
	case 3:
		return "\xff\xfe" + strings.Repeat("\x80", r.below(3)) + "=\xe2\x82"
	default:
		n := r.below(20)
		n = min(n, len(r.data))
		s := string(r.data[:n])
		r.data = r.data[n:]
		return s
	}
}

func (r *random) time() time.Time {
	switch r.below(6) {
	case 0:
		return time.Time{}
	case 1:
		return time.Unix(0, r.number())
	case 2:
		return time.Unix(r.number(), r.number()) // any year
	default:
		return testTime.Add(time.Duration(r.byte()))
	}
}

func list[T any](r *random, f func() T) []T {
	out := make([]T, r.below(8))
	for i := range out {
		out[i] = f()
	}
	return out
}

func (r *random) attributes(depth int) []attribute.KeyValue {
	return list(r, func() attribute.KeyValue {
		return attribute.KeyValue{Key: attribute.Key(r.text()), Value: r.value(depth)}
	})
}

func (r *random) value(depth int) attribute.Value {
	kinds := 13
	if depth > 4 {
		kinds = 6
	}
	switch r.below(kinds) {
	case 0:
		return attribute.Value{}
	case 1:
		return attribute.BoolValue(r.below(2) == 1)
	case 2:
		return attribute.Int64Value(r.number())
	case 3:
		return attribute.Float64Value(r.float())
	case 4:
		return attribute.StringValue(r.text())
	case 5:
		return attribute.ByteSliceValue([]byte(r.text()))
	case 6:
		return attribute.BoolSliceValue(list(r, func() bool { return r.below(2) == 1 }))
	case 7:
		return attribute.Int64SliceValue(list(r, r.number))
	case 8:
		return attribute.Float64SliceValue(list(r, r.float))
	case 9:
		return attribute.StringSliceValue(list(r, r.text))
	case 10:
		return attribute.SliceValue(list(r, func() attribute.Value { return r.value(depth + 1) })...)
	case 11:
		members := r.attributes(depth + 1)
		for _, kv := range members {
			r.repaired = r.repaired || string(kv.Key) != strings.ToValidUTF8(string(kv.Key), "\uFFFD")
		}
		return attribute.MapValue(members...)
	default:
		v := r.value(5) // a chain, as deep as may be
		for range r.below(otlpenc.MaxDepth - depth + 1) {
			if r.below(2) == 0 {
				v = attribute.SliceValue(v)
			} else {
				v = attribute.MapValue(attribute.KeyValue{Key: "k", Value: v})
			}
		}
		return v
	}
}

func (r *random) context() trace.SpanContext {
	var c trace.SpanContextConfig
	for i := range c.TraceID {
		c.TraceID[i] = r.byte()
	}
	for i := range c.SpanID {
		c.SpanID[i] = r.byte()
	}
	c.TraceFlags, c.Remote = trace.TraceFlags(r.byte()), r.below(2) == 1
	for i := range r.below(4) {
		key := "k" + strconv.Itoa(i)
		if ts, err := c.TraceState.Insert(key, strings.Repeat("v", 1+int(r.byte()))); err == nil {
			c.TraceState = ts
		}
	}
	return trace.NewSpanContext(c)
}

// resource is one of few. Each has attributes that no other has, because the SDK's exporter joins those with equal ones.
func (r *random) resource() *resource.Resource {
	i := r.below(4)
	for len(r.resources) <= i {
		var next *resource.Resource
		if n := len(r.resources); n > 0 || r.below(2) == 1 {
			next = resource.NewWithAttributes(r.text(), append(r.attributes(0), attribute.Int("number", n))...)
		}
		r.resources = append(r.resources, next)
	}
	return r.resources[i]
}

func (r *random) scope() instrumentation.Scope {
	i := r.below(4)
	for len(r.scopes) <= i {
		var next instrumentation.Scope
		if r.below(4) > 0 {
			next = instrumentation.Scope{Name: r.text(), Version: r.text(), SchemaURL: r.text()}
		}
		if r.below(2) == 1 {
			next.Attributes = attribute.NewSet(r.attributes(0)...)
		}
		r.scopes = append(r.scopes, next)
	}
	return r.scopes[i]
}

func (r *random) span() sdktrace.ReadOnlySpan {
	s := tracetest.SpanStub{
		Resource:    r.resource(),
		SpanContext: r.context(), Parent: r.context(),
		Name: r.text(), SpanKind: trace.SpanKind(r.below(8) - 1),
		StartTime: r.time(), EndTime: r.time(),
		Attributes:        r.attributes(0),
		Status:            sdktrace.Status{Code: codes.Code(r.below(5)), Description: r.text()},
		DroppedAttributes: int(r.number()), DroppedEvents: int(r.number()), DroppedLinks: int(r.number()),
		Events: list(r, func() sdktrace.Event {
			return sdktrace.Event{Name: r.text(), Time: r.time(), Attributes: r.attributes(0), DroppedAttributeCount: int(r.number())}
		}),
		Links: list(r, func() sdktrace.Link {
			return sdktrace.Link{SpanContext: r.context(), Attributes: r.attributes(0), DroppedAttributeCount: int(r.number())}
		}),
	}
	return scoped{s.Snapshot(), r.scope()}
}

// sdkSpans makes spans as a program does, by the SDK.
func (r *random) sdkSpans(tb testing.TB) []sdktrace.ReadOnlySpan {
	tb.Helper()
	var e recorder
	limits := sdktrace.NewSpanLimits()
	if r.below(2) == 1 {
		limits.AttributeValueLengthLimit, limits.AttributeCountLimit = int(r.byte()), r.below(4)
		limits.EventCountLimit, limits.LinkCountLimit = r.below(4), r.below(4)
		limits.AttributePerEventCountLimit, limits.AttributePerLinkCountLimit = r.below(4), r.below(4)
	}
	providers := map[*resource.Resource]*sdktrace.TracerProvider{}
	ctx := tb.Context()
	for range 1 + r.below(8) {
		res := r.resource()
		if providers[res] == nil {
			options := []sdktrace.TracerProviderOption{sdktrace.WithSpanProcessor(&e), sdktrace.WithRawSpanLimits(limits)}
			if res != nil {
				options = append(options, sdktrace.WithResource(res))
			}
			providers[res] = sdktrace.NewTracerProvider(options...)
		}
		scope := r.scope()
		tracer := providers[res].Tracer(scope.Name, trace.WithInstrumentationVersion(scope.Version), trace.WithSchemaURL(scope.SchemaURL),
			trace.WithInstrumentationAttributeSet(scope.Attributes))
		if r.below(2) == 1 {
			ctx = trace.ContextWithSpanContext(ctx, r.context().WithTraceFlags(trace.FlagsSampled))
		}
		child, span := tracer.Start(ctx, r.text(), trace.WithSpanKind(trace.SpanKind(r.below(8)-1)), trace.WithTimestamp(r.time()), trace.WithAttributes(r.attributes(0)...),
			trace.WithLinks(list(r, func() trace.Link { return trace.Link{SpanContext: r.context(), Attributes: r.attributes(0)} })...))
		span.SetAttributes(r.attributes(0)...)
		for range r.below(8) {
			span.AddEvent(r.text(), trace.WithTimestamp(r.time()), trace.WithAttributes(r.attributes(0)...))
		}
		span.SetStatus(codes.Code(r.below(5)), r.text())
		span.End(trace.WithTimestamp(r.time()))
		if r.below(2) == 1 {
			ctx = child
		}
	}
	return e.spans
}

package otlpenc

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// ended is a processor that keeps the spans.
type ended struct {
	sdktrace.SpanProcessor
	spans []sdktrace.ReadOnlySpan
}

func (*ended) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (e *ended) OnEnd(s sdktrace.ReadOnlySpan)                 { e.spans = append(e.spans, s) }

// A wrapped span is another type than the SDK's.
type wrapped struct{ sdktrace.ReadOnlySpan }

// A later SDK may have other fields. Then its spans are read by their methods, and this test fails: bring the
// fields of a snapshot up to date.
func TestSnapshotHasTheFieldsOfTheSDK(t *testing.T) {
	var e ended
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&e)).Tracer("t")
	ctx, parent := tracer.Start(t.Context(), "parent", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.Int("n", 1)))
	_, child := tracer.Start(ctx, "child", trace.WithLinks(trace.Link{SpanContext: parent.SpanContext()}))
	child.AddEvent("event", trace.WithAttributes(attribute.String("k", "v")))
	child.End()
	parent.End()
	var groups Groups
	for _, s := range e.spans {
		var room Snapshot
		if snapshotOf(s, &room) == &room {
			t.Errorf("%s is read by its methods", s.Name())
		}
		if snapshotOf(wrapped{s}, &room) != &room {
			t.Errorf("%s is read in place, but it is another type", s.Name())
		}
		groups.Encode(s, func(a Spans) {
			groups.Encode(wrapped{s}, func(b Spans) {
				if a.Group() != b.Group() || !slices.Equal(a.Bytes, b.Bytes) {
					t.Errorf("%s: read in place it gives\n%q, by its methods\n%q", s.Name(), a.Bytes, b.Bytes)
				}
			})
		})
	}
	stub := tracetest.SpanStub{Name: "stub"}.Snapshot()
	var room Snapshot
	if snapshotOf(stub, &room) != &room || room.Name != "stub" {
		t.Errorf("%T is read as %+v", stub, room)
	}
}

func TestSameFields(t *testing.T) {
	fields := reflect.TypeFor[struct {
		name string
		n    int
	}]()
	for name, other := range map[string]reflect.Type{
		"another name": reflect.TypeFor[struct{ name, n string }](),
		"another type": reflect.TypeFor[struct{ name, m string }](),
		"another order": reflect.TypeFor[struct {
			n    int
			name string
		}](),
		"a field more": reflect.TypeFor[struct {
			name string
			n, m int
		}](),
		"a field less": reflect.TypeFor[struct{ name string }](),
		"not a struct": reflect.TypeFor[string](),
		"another offset": reflect.TypeFor[struct {
			name string
			_    int
			n    int
		}](),
	} {
		if sameFields(other, fields) {
			t.Errorf("%s: %s passes for %s", name, other, fields)
		}
	}
	if !sameFields(reflect.TypeFor[struct {
		name string
		n    int
	}](), fields) {
		t.Error("the same fields are not the same")
	}
}

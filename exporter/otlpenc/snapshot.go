package otlpenc

import (
	"reflect"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A snapshot has the same fields as the SDK's type of this name, which its processors receive. Each
// method of that type copies all of its 408 bytes, and a span takes fifteen calls. That is as much time as
// the encoding, so that spans of the SDK are read in place: see [snapshotOf].
type snapshot struct {
	name                  string
	spanContext           trace.SpanContext
	parent                trace.SpanContext
	spanKind              trace.SpanKind
	startTime             time.Time
	endTime               time.Time
	attributes            []attribute.KeyValue
	events                []sdktrace.Event
	links                 []sdktrace.Link
	status                sdktrace.Status
	childSpanCount        int
	droppedAttributeCount int
	droppedEventCount     int
	droppedLinkCount      int
	resource              *resource.Resource
	instrumentationScope  instrumentation.Scope
}

// snapshotOf returns the fields of s, which must not be changed. A span of the SDK is returned itself. The fields of
// other spans go to room.
func snapshotOf(s sdktrace.ReadOnlySpan, room *snapshot) *snapshot {
	if isSnapshot(reflect.TypeOf(s)) {
		return (*snapshot)(reflect.ValueOf(s).UnsafePointer())
	}
	*room = snapshot{
		name: s.Name(), spanContext: s.SpanContext(), parent: s.Parent(), spanKind: s.SpanKind(), startTime: s.StartTime(), endTime: s.EndTime(),
		attributes: s.Attributes(), events: s.Events(), links: s.Links(), status: s.Status(),
		droppedAttributeCount: s.DroppedAttributes(), droppedEventCount: s.DroppedEvents(), droppedLinkCount: s.DroppedLinks(),
		resource: s.Resource(), instrumentationScope: s.InstrumentationScope(),
	}
	return room
}

// sdkSnapshot is the SDK's type and whether a snapshot has the same fields; nil until a span has it.
var sdkSnapshot atomic.Pointer[comparison]

type comparison struct {
	sdk  reflect.Type
	same bool
}

// isSnapshot reports whether t is a pointer to the SDK's type, and that type has the fields of a snapshot. The fields
// are compared once, when the program runs: a later SDK may have others, and is read by its methods then.
func isSnapshot(t reflect.Type) bool {
	if c := sdkSnapshot.Load(); c != nil {
		return c.sdk == t && c.same
	}
	if t.Kind() != reflect.Pointer || t.Elem().Name() != "snapshot" || t.Elem().PkgPath() != reflect.TypeFor[sdktrace.ReadOnlySpan]().PkgPath() {
		return false
	}
	c := &comparison{t, sameFields(t.Elem(), reflect.TypeFor[snapshot]())}
	sdkSnapshot.Store(c)
	return c.same
}

// sameFields reports whether two structs have fields of the same names and types at the same places.
func sameFields(a, b reflect.Type) bool {
	if a.Kind() != reflect.Struct || a.NumField() != b.NumField() || a.Size() != b.Size() {
		return false
	}
	for i := range a.NumField() {
		f, g := a.Field(i), b.Field(i)
		if f.Name != g.Name || f.Type != g.Type || f.Offset != g.Offset {
			return false
		}
	}
	return true
}

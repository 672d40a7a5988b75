package otlpenc

import (
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// A Snapshot has the data of a span that has ended. It is for callers that have no
// [sdktrace.ReadOnlySpan]. The encoder does not read the child span count, the resource and the
// scope: the last two belong to the span's [Group].
//
// They are the fields of the SDK's own type, which its processors receive. Each method of that type
// copies all of its 408 bytes, and a span takes fifteen calls. That takes as long as the encoding,
// so spans of the SDK are read in place: see [snapshotOf].
type Snapshot struct {
	Name                  string
	SpanContext           trace.SpanContext
	Parent                trace.SpanContext
	SpanKind              trace.SpanKind
	StartTime             time.Time
	EndTime               time.Time
	Attributes            []attribute.KeyValue
	Events                []sdktrace.Event
	Links                 []sdktrace.Link
	Status                sdktrace.Status
	ChildSpanCount        int
	DroppedAttributeCount int
	DroppedEventCount     int
	DroppedLinkCount      int
	Resource              *resource.Resource
	InstrumentationScope  instrumentation.Scope
}

// snapshotOf returns the fields of s, which must not be changed. A span of the SDK is returned
// itself. The fields of other spans go to room.
func snapshotOf(s sdktrace.ReadOnlySpan, room *Snapshot) *Snapshot {
	if isSnapshot(reflect.TypeOf(s)) {
		return (*Snapshot)(reflect.ValueOf(s).UnsafePointer())
	}
	*room = Snapshot{
		Name: s.Name(), SpanContext: s.SpanContext(), Parent: s.Parent(), SpanKind: s.SpanKind(),
		StartTime: s.StartTime(), EndTime: s.EndTime(),
		Attributes: s.Attributes(), Events: s.Events(), Links: s.Links(), Status: s.Status(),
		DroppedAttributeCount: s.DroppedAttributes(), DroppedEventCount: s.DroppedEvents(),
		DroppedLinkCount: s.DroppedLinks(),
		Resource:         s.Resource(), InstrumentationScope: s.InstrumentationScope(),
	}
	return room
}

// sdkSnapshot is the SDK's type if it has the fields of a Snapshot; nil until a span has it.
var sdkSnapshot atomic.Pointer[reflect.Type]

// isSnapshot reports whether t is a pointer to the SDK's type, and that type has the fields of a
// Snapshot. A later SDK may have other fields, and is read by its methods then.
func isSnapshot(t reflect.Type) bool {
	if known := sdkSnapshot.Load(); known != nil {
		return *known == t
	}
	if t.Kind() != reflect.Pointer ||
		t.Elem().PkgPath() != reflect.TypeFor[sdktrace.ReadOnlySpan]().PkgPath() ||
		!sameFields(t.Elem(), reflect.TypeFor[Snapshot]()) {
		return false
	}
	sdk := t // t itself would be an allocation for each span
	sdkSnapshot.Store(&sdk)
	return true
}

// sameFields reports whether two structs have fields of the same names and types at the same
// places. The first letters of the names may differ in case.
func sameFields(a, b reflect.Type) bool {
	if a.Kind() != reflect.Struct || a.NumField() != b.NumField() || a.Size() != b.Size() {
		return false
	}
	for i := range a.NumField() {
		f, g := a.Field(i), b.Field(i)
		if !strings.EqualFold(f.Name, g.Name) || f.Type != g.Type || f.Offset != g.Offset {
			return false
		}
	}
	return true
}

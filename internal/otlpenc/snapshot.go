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

// A Snapshot contains the data of an ended span, for callers without a [sdktrace.ReadOnlySpan]. The
// encoder ignores ChildSpanCount, Resource and InstrumentationScope. The [Group] contains the
// resource and the scope.
//
// The fields equal the fields of the SDK's type. Therefore [snapshotOf] reads the SDK's spans in
// place. Each method of the SDK's type copies all 408 bytes. The fifteen calls for a span would
// double the time of the encoding.
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

// snapshotOf returns the fields of s, which the caller must not change: an SDK's span itself, or
// room with the fields of any other span.
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

// sdkSnapshot is the SDK's type with the fields of a Snapshot; nil before the first such span.
var sdkSnapshot atomic.Pointer[reflect.Type]

// isSnapshot reports whether t is a pointer to the SDK's type with the fields of a Snapshot. The
// type of a later SDK may have other fields.
func isSnapshot(t reflect.Type) bool {
	if known := sdkSnapshot.Load(); known != nil {
		return *known == t
	}
	if t.Kind() != reflect.Pointer ||
		t.Elem().PkgPath() != reflect.TypeFor[sdktrace.ReadOnlySpan]().PkgPath() ||
		!sameFields(t.Elem(), reflect.TypeFor[Snapshot]()) {
		return false
	}
	sdk := t // the address of t would cost an allocation for each span
	sdkSnapshot.Store(&sdk)
	return true
}

// sameFields reports whether two structs have fields of the same names and types at the same
// offsets. The case of the names may differ.
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

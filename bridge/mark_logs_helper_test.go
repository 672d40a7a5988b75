package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
)

var allForms = []bridge.MarkForm{bridge.SpanEvents, bridge.LogRecords, bridge.SpanEventsAndLogRecords}

// overForms runs a test with each form of marks.
func overForms(t *testing.T, test func(*testing.T, bridge.MarkForm)) {
	t.Helper()
	for _, form := range allForms {
		t.Run(form.String(), func(t *testing.T) { test(t, form) })
	}
}

// logRecords is an output that keeps the log records of marks, decoded by OpenTelemetry's own messages.
type logRecords struct {
	readable

	mu       sync.Mutex
	records  []*logspb.LogRecord
	scopes   []*logspb.ScopeLogs    // of each part
	resource []*logspb.ResourceLogs // of each part
	err      error
	flushes  int
	downs    int
	late     int // records after Shutdown
}

func (o *logRecords) AcceptLogs(r bridge.Records) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.downs > 0 {
		o.late += r.Count
		return
	}
	var request logspb.LogsData
	if err := proto.Unmarshal(otlpenc.AppendRequest(nil, []otlpenc.Records{otlpenc.Records(r)}), &request); err != nil {
		o.err = err
		return
	}
	n := 0
	for _, resource := range request.GetResourceLogs() {
		o.resource = append(o.resource, resource)
		for _, scope := range resource.GetScopeLogs() {
			o.scopes = append(o.scopes, scope)
			o.records = append(o.records, scope.GetLogRecords()...)
			n += len(scope.GetLogRecords())
		}
	}
	if n != r.Count {
		o.err = fmt.Errorf("%d records are said to be %d", n, r.Count)
	}
}

func (o *logRecords) ForceFlush(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushes++
	return nil
}

func (o *logRecords) Shutdown(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.downs++
	return nil
}

// A failer is a test, or a check of one.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// all returns the records that have arrived.
func (o *logRecords) all(t failer) []*logspb.LogRecord {
	t.Helper()
	o.read()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		t.Fatal(o.err)
	}
	return slices.Clone(o.records)
}

// names returns the sorted event names of the records.
func (o *logRecords) names(t failer) (names []string) {
	t.Helper()
	for _, r := range o.all(t) {
		names = append(names, r.GetEventName())
	}
	slices.Sort(names)
	return names
}

// one returns the only record of that name.
func (o *logRecords) one(t failer, name string) *logspb.LogRecord {
	t.Helper()
	var found []*logspb.LogRecord
	for _, r := range o.all(t) {
		if r.GetEventName() == name {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d records %q, want 1; there are %q", len(found), name, o.names(t))
	}
	return found[0]
}

// contextOf returns the ids and the flags of a record as text.
func contextOf(r *logspb.LogRecord) string {
	return fmt.Sprintf("%x %x %02x", r.GetTraceId(), r.GetSpanId(), r.GetFlags())
}

// flatContext returns a span context as contextOf returns the one of a record.
func flatContext(sc trace.SpanContext) string {
	t, s := sc.TraceID(), sc.SpanID()
	return fmt.Sprintf("%x %x %02x", t[:], s[:], byte(sc.TraceFlags()))
}

// recordText returns the attributes of a record as text does.
func recordText(r *logspb.LogRecord) string {
	var kvs []attribute.KeyValue
	for _, kv := range r.GetAttributes() {
		kvs = append(kvs, attribute.KeyValue{Key: attribute.Key(kv.GetKey()), Value: valueOf(kv.GetValue())})
	}
	return text(kvs)
}

func valueOf(v *commonpb.AnyValue) attribute.Value {
	switch x := v.GetValue().(type) {
	case *commonpb.AnyValue_StringValue:
		return attribute.StringValue(x.StringValue)
	case *commonpb.AnyValue_BoolValue:
		return attribute.BoolValue(x.BoolValue)
	case *commonpb.AnyValue_IntValue:
		return attribute.Int64Value(x.IntValue)
	case *commonpb.AnyValue_DoubleValue:
		return attribute.Float64Value(x.DoubleValue)
	case *commonpb.AnyValue_BytesValue:
		return attribute.ByteSliceValue(x.BytesValue)
	case *commonpb.AnyValue_ArrayValue: // of texts, in these tests
		var all []string
		for _, e := range x.ArrayValue.GetValues() {
			all = append(all, e.GetStringValue())
		}
		return attribute.StringSliceValue(all)
	default:
		return attribute.Value{}
	}
}

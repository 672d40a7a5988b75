package otlpenc_test

import (
	"bytes"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/otlpenc"
)

// A logged is a log record with its further attributes and its group.
type logged struct {
	group  *otlpenc.Group
	record otlpenc.LogRecord
	detail []slog.Attr
}

func (l logged) encode() otlpenc.Records {
	return otlpenc.NewRecords(l.group, l.record.Append(nil, l.detail), 1)
}

// logsByUs is the request that this package makes of log records. It fails the test unless a protobuf library understands it, and finds
// nothing that it does not know.
func logsByUs(tb testing.TB, records []logged) *logspb.LogsData {
	tb.Helper()
	all := make([]otlpenc.Records, 0, len(records))
	sum := 0
	for _, l := range records {
		one := l.encode()
		all = append(all, one)
		sum += one.RequestSize()
	}
	body, ok := bytes.CutPrefix(otlpenc.AppendRequest([]byte("before"), all), []byte("before"))
	if !ok {
		tb.Fatalf("AppendRequest changed what was there: %q", body)
	}
	if sum < len(body) || len(all) == 1 && sum != len(body) {
		tb.Errorf("the requests of each of %d records alone have %d bytes, the one of all has %d", len(all), sum, len(body))
	}
	request := &logspb.LogsData{}
	if err := proto.Unmarshal(body, request); err != nil {
		tb.Fatalf("the request cannot be decoded: %v\n%x", err, body)
	}
	if size := proto.Size(request); size != len(body) {
		tb.Errorf("the request has %d bytes, the shortest has %d", len(body), size)
	}
	noUnknown(tb, request.ProtoReflect())
	return request
}

// logsByHand is the same request, made of protobuf's messages.
func logsByHand(records []logged) *logspb.LogsData {
	request := &logspb.LogsData{}
	resources := map[*resource.Resource]*logspb.ResourceLogs{}
	scopes := map[*otlpenc.Group]*logspb.ScopeLogs{}
	for _, l := range records {
		res := l.group.Resource()
		if resources[res] == nil {
			resources[res] = &logspb.ResourceLogs{Resource: resourceMessage(res), SchemaUrl: repaired(res.SchemaURL())}
			request.ResourceLogs = append(request.ResourceLogs, resources[res])
		}
		if scopes[l.group] == nil {
			scopes[l.group] = &logspb.ScopeLogs{Scope: scopeMessage(l.group.Scope()), SchemaUrl: repaired(l.group.Scope().SchemaURL)}
			resources[res].ScopeLogs = append(resources[res].ScopeLogs, scopes[l.group])
		}
		scopes[l.group].LogRecords = append(scopes[l.group].LogRecords, l.message())
	}
	return request
}

func resourceMessage(r *resource.Resource) *resourcepb.Resource {
	if r == nil {
		return nil
	}
	return &resourcepb.Resource{Attributes: attributeMessages(r.Attributes(), 0)}
}

func scopeMessage(s instrumentation.Scope) *commonpb.InstrumentationScope {
	if s == (instrumentation.Scope{}) {
		return nil
	}
	return &commonpb.InstrumentationScope{Name: repaired(s.Name), Version: repaired(s.Version), Attributes: attributeMessages(s.Attributes.ToSlice(), 0)}
}

// message returns the record as a message of protobuf.
func (l logged) message() *logspb.LogRecord {
	r := l.record
	m := &logspb.LogRecord{
		TimeUnixNano: nanos(r.Time), ObservedTimeUnixNano: nanos(r.ObservedTime),
		SeverityText: repaired(r.SeverityText), EventName: repaired(r.EventName),
		Attributes:             append(attributeMessages(r.Attributes, 0), detailMessages(l.detail)...),
		DroppedAttributesCount: uint32(min(uint64(max(r.DroppedAttributes, 0)), math.MaxUint32)),
		Flags:                  uint32(r.SpanContext.TraceFlags()),
	}
	if _, known := logspb.SeverityNumber_name[int32(r.Severity)]; known && r.Severity <= math.MaxInt8 {
		m.SeverityNumber = logspb.SeverityNumber(r.Severity)
	}
	if r.Body.Type() != attribute.EMPTY {
		m.Body = valueMessage(r.Body, 0)
	}
	if id := r.SpanContext.TraceID(); id.IsValid() {
		m.TraceId = id[:]
	}
	if id := r.SpanContext.SpanID(); id.IsValid() {
		m.SpanId = id[:]
	}
	return m
}

func nanos(t time.Time) uint64 { return uint64(max(0, t.UnixNano())) }

func repaired(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func attributeMessages(attrs []attribute.KeyValue, depth int) []*commonpb.KeyValue {
	all := make([]*commonpb.KeyValue, 0, len(attrs))
	for _, kv := range attrs {
		all = append(all, &commonpb.KeyValue{Key: repaired(string(kv.Key)), Value: valueMessage(kv.Value, depth)})
	}
	return all
}

// valueMessage returns a value that has depth lists and maps around it.
func valueMessage(v attribute.Value, depth int) *commonpb.AnyValue {
	list := func(n int, at func(int) attribute.Value) *commonpb.AnyValue {
		if depth == otlpenc.MaxDepth {
			return textMessage("nested too deep")
		}
		all := &commonpb.ArrayValue{}
		for i := range n {
			all.Values = append(all.Values, valueMessage(at(i), depth+1))
		}
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_ArrayValue{ArrayValue: all}}
	}
	switch v.Type() {
	case attribute.BOOL:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return intMessage(v.AsInt64())
	case attribute.FLOAT64:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	case attribute.STRING:
		return textMessage(v.AsString())
	case attribute.BYTESLICE:
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_BytesValue{BytesValue: v.AsByteSlice()}}
	case attribute.BOOLSLICE:
		return list(len(v.AsBoolSlice()), func(i int) attribute.Value { return attribute.BoolValue(v.AsBoolSlice()[i]) })
	case attribute.INT64SLICE:
		return list(len(v.AsInt64Slice()), func(i int) attribute.Value { return attribute.Int64Value(v.AsInt64Slice()[i]) })
	case attribute.FLOAT64SLICE:
		return list(len(v.AsFloat64Slice()), func(i int) attribute.Value { return attribute.Float64Value(v.AsFloat64Slice()[i]) })
	case attribute.STRINGSLICE:
		return list(len(v.AsStringSlice()), func(i int) attribute.Value { return attribute.StringValue(v.AsStringSlice()[i]) })
	case attribute.SLICE:
		return list(len(v.AsSlice()), func(i int) attribute.Value { return v.AsSlice()[i] })
	case attribute.MAP:
		if depth == otlpenc.MaxDepth {
			return textMessage("nested too deep")
		}
		members := attributeMessages(v.AsMap(), depth+1)
		return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: members}}}
	default:
		return &commonpb.AnyValue{}
	}
}

func textMessage(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: repaired(s)}}
}

func intMessage(n int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}}
}

// detailMessages returns attributes that are plain.
func detailMessages(attrs []slog.Attr) []*commonpb.KeyValue {
	all := make([]*commonpb.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		var v *commonpb.AnyValue
		switch a.Value.Kind() {
		case slog.KindBool:
			v = valueMessage(attribute.BoolValue(a.Value.Bool()), 0)
		case slog.KindInt64:
			v = intMessage(a.Value.Int64())
		case slog.KindUint64:
			if v = intMessage(int64(a.Value.Uint64())); a.Value.Uint64() > math.MaxInt64 {
				v = textMessage(strconv.FormatUint(a.Value.Uint64(), 10))
			}
		case slog.KindFloat64:
			v = valueMessage(attribute.Float64Value(a.Value.Float64()), 0)
		case slog.KindDuration:
			v = intMessage(int64(a.Value.Duration()))
		case slog.KindTime:
			v = intMessage(a.Value.Time().UnixNano())
		default:
			v = textMessage(a.Value.String())
		}
		all = append(all, &commonpb.KeyValue{Key: repaired(a.Key), Value: v})
	}
	return all
}

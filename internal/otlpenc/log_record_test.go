package otlpenc_test

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/otlpenc"
)

var (
	attributesOfAllKinds = []attribute.KeyValue{
		attribute.String("", ""), attribute.String(notUTF8, notUTF8), attribute.Bool("no", false), attribute.Bool("yes", true),
		attribute.Int64("zero", 0), attribute.Int64("negative", -1), attribute.Float64("f", 0), attribute.Float64("NaN", math.NaN()),
		attribute.ByteSlice("bytes", []byte(notUTF8)), attribute.ByteSlice("no bytes", nil), {Key: "empty"},
		attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{0, -1, 1 << 40}),
		attribute.Float64Slice("floats", []float64{0, .5}), attribute.StringSlice("strings", []string{"", notUTF8}), attribute.StringSlice("none", nil),
		{Key: "list", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue(notUTF8), attribute.Value{}, attribute.SliceValue())},
		{Key: "map", Value: attribute.MapValue(attribute.String(notUTF8, "v"), attribute.KeyValue{}, attribute.KeyValue{Key: "m", Value: attribute.MapValue()})},
	}
	detailOfAllKinds = []slog.Attr{
		slog.Bool("b", true), slog.Int64("i", math.MinInt64), slog.Uint64("u", math.MaxUint64), slog.Float64("f", math.Inf(-1)),
		slog.String(notUTF8, notUTF8), slog.Duration("d", -time.Second), slog.Time("t", testTime), slog.String("empty", ""),
	}
)

const notUTF8 = "a\xff\xfeb\xe2\x82"

// A record is the message that protobuf's own encoder would make of it.
func TestLogRecord(t *testing.T) {
	context := trace.NewSpanContext
	for name, l := range map[string]logged{
		"zero": {},
		"an event": {record: otlpenc.LogRecord{Time: testTime, ObservedTime: testTime.Add(time.Millisecond), Severity: 9, SeverityText: "INFO", EventName: "cache miss",
			Body: attribute.StringValue("no cart"), Attributes: []attribute.KeyValue{attribute.String("key", "cart-42")}, DroppedAttributes: 2,
			SpanContext: context(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})},
			detail: []slog.Attr{slog.Int("size", 4096)}},
		"attributes":       {record: otlpenc.LogRecord{Attributes: attributesOfAllKinds}},
		"plain attributes": {detail: detailOfAllKinds},
		"both":             {record: otlpenc.LogRecord{Attributes: attributesOfAllKinds}, detail: detailOfAllKinds},
		"wrong text":       {record: otlpenc.LogRecord{SeverityText: notUTF8, EventName: notUTF8, Body: attribute.StringValue(notUTF8)}},
		"an empty body":    {record: otlpenc.LogRecord{Body: attribute.StringValue("")}},
		"an empty list":    {record: otlpenc.LogRecord{Body: attribute.SliceValue()}},
		"a map as body":    {record: otlpenc.LogRecord{Body: attribute.MapValue(attributesOfAllKinds...)}},
		"a false body":     {record: otlpenc.LogRecord{Body: attribute.BoolValue(false)}},
		"before 1970":      {record: otlpenc.LogRecord{Time: time.Unix(-1, 0), ObservedTime: time.Unix(0, 0)}},
		"after 2262":       {record: otlpenc.LogRecord{Time: time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC), ObservedTime: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}},
		"a trace only":     {record: otlpenc.LogRecord{SpanContext: context(trace.SpanContextConfig{TraceID: trace.TraceID{1}})}},
		"a span only":      {record: otlpenc.LogRecord{SpanContext: context(trace.SpanContextConfig{SpanID: trace.SpanID{1}})}},
		"all flags":        {record: otlpenc.LogRecord{SpanContext: context(trace.SpanContextConfig{TraceFlags: 0xff, Remote: true})}},
		"dropped too few":  {record: otlpenc.LogRecord{DroppedAttributes: -1}},
		"dropped a lot":    {record: otlpenc.LogRecord{DroppedAttributes: math.MaxInt}},
	} {
		t.Run(name, func(t *testing.T) {
			l.group = new(otlpenc.Groups).Group(testResource, instrumentation.Scope{Name: "scope"})
			equalLogs(t, []logged{l})
		})
	}
}

// A severity that OTLP does not have is left out: a receiver would show a number without a meaning.
func TestLogRecordSeverity(t *testing.T) {
	group := new(otlpenc.Groups).Group(nil, instrumentation.Scope{})
	for severity, want := range map[int]logspb.SeverityNumber{
		math.MinInt: 0, -1: 0, 0: 0, 1: logspb.SeverityNumber_SEVERITY_NUMBER_TRACE, 9: logspb.SeverityNumber_SEVERITY_NUMBER_INFO,
		24: logspb.SeverityNumber_SEVERITY_NUMBER_FATAL4, 25: 0, 127: 0, 128: 0, 256 + 9: 0, 1<<16 + 9: 0, math.MaxInt: 0,
	} {
		got := equalLogs(t, []logged{{group: group, record: otlpenc.LogRecord{Severity: severity}}})
		if n := got.GetResourceLogs()[0].GetScopeLogs()[0].GetLogRecords()[0].GetSeverityNumber(); n != want {
			t.Errorf("severity %d becomes %v, want %v", severity, n, want)
		}
	}
}

// A length takes one byte more at 128, 16 384 and 2 097 152 bytes. All messages around the text have such a length at
// one of the sizes.
func TestLogRecordLengths(t *testing.T) {
	group := new(otlpenc.Groups).Group(nil, instrumentation.Scope{})
	for _, limit := range []int{1 << 7, 1 << 14, 1 << 21} {
		step := 1 + limit>>16 // few of the largest
		for n := limit - 60; n <= limit+step; n += step {
			text := strings.Repeat("x", n)
			equalLogs(t, []logged{
				{group: group, record: otlpenc.LogRecord{EventName: text}},
				{group: group, record: otlpenc.LogRecord{Body: attribute.SliceValue(attribute.StringValue(text))}},
				{group: group, record: otlpenc.LogRecord{Attributes: []attribute.KeyValue{attribute.String("k", text)}}},
				{group: group, detail: []slog.Attr{slog.String("k", text)}},
			})
		}
	}
}

// No receiver refuses a request for a value that is nested deep: what is deeper is a text.
func TestLogRecordDepth(t *testing.T) {
	group := new(otlpenc.Groups).Group(nil, instrumentation.Scope{})
	for _, inMap := range []bool{false, true} {
		for _, depth := range []int{1, otlpenc.MaxDepth, otlpenc.MaxDepth + 1, 5000} {
			t.Run(fmt.Sprintf("%d lists, maps %v", depth, inMap), func(t *testing.T) {
				v := nested(depth, inMap)
				l := logged{group: group, record: otlpenc.LogRecord{Body: v, Attributes: []attribute.KeyValue{{Key: "deep", Value: v}}}}
				got := equalLogs(t, []logged{l}).String()
				if levels := levels(otlpenc.AppendRequest(nil, []otlpenc.Records{l.encode()})); levels > 100 {
					t.Errorf("messages are %d levels deep, receivers take 100", levels)
				}
				if strings.Contains(got, "nested too deep") != (depth > otlpenc.MaxDepth) || strings.Contains(got, "innermost") != (depth <= otlpenc.MaxDepth) {
					t.Errorf("%d lists within each other: %s", depth, got)
				}
			})
		}
	}
}

// Records of one group are together, also when others lie between them.
func TestAppendRequestOfRecords(t *testing.T) {
	var groups otlpenc.Groups
	resources := []*resource.Resource{testResource, nil, resource.Empty(), resource.NewWithAttributes(notUTF8, attributesOfAllKinds...)}
	scopes := []instrumentation.Scope{{}, {Name: "scope"}, {SchemaURL: notUTF8}, {Name: notUTF8, Version: notUTF8, Attributes: attribute.NewSet(attributesOfAllKinds...)}}
	var all []logged
	for i := range 100 {
		group := groups.Group(resources[i%4], scopes[i*7/4%4])
		all = append(all, logged{group: group, record: otlpenc.LogRecord{EventName: fmt.Sprint("event ", i)}})
	}
	got := equalLogs(t, all)
	if n := len(got.GetResourceLogs()); n != 4 {
		t.Errorf("%d resources, want 4", n)
	}
	for _, r := range got.GetResourceLogs() {
		if n := len(r.GetScopeLogs()); n != 4 {
			t.Errorf("%d scopes, want 4", n)
		}
	}
	if got := otlpenc.AppendRequest[otlpenc.Records](nil, nil); len(got) != 0 {
		t.Errorf("a request without records is %x", got)
	}
}

// equalLogs compares our request with the one of protobuf's messages, and returns ours.
func equalLogs(tb testing.TB, all []logged) *logspb.LogsData {
	tb.Helper()
	got, want := logsByUs(tb, all), logsByHand(all)
	if !proto.Equal(got, want) {
		tb.Fatalf("got  %v\nwant %v", got, want)
	}
	return got
}

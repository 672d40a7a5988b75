package otlpenc_test

import (
	"fmt"
	"math"
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
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/spanfuzz"
)

// Spans of the SDK's provider, in one request with spans of other resources and scopes.
func TestRequestIsTheSDKs(t *testing.T) {
	spans := request(t)
	got, _ := byUs(t, spans)
	spanfuzz.Equal(t, got, spanfuzz.BySDK(t, spans))
	if n := len(got.GetResourceSpans()); n != 1 {
		t.Errorf("%d resources, want 1", n)
	}
	if n := len(got.GetResourceSpans()[0].GetScopeSpans()); n != 2 {
		t.Errorf("%d scopes, want 2", n)
	}
	random := newRandom([]byte(strings.Repeat("any bytes \x01\x02\x03\x05\x08\xff", 200)))
	for range 30 {
		spans = append(spans, random.span())
	}
	spans = append(spans, request(t)...)
	got, _ = byUs(t, spans)
	spanfuzz.Equal(t, got, spanfuzz.BySDK(t, spans))
}

func TestSpanIsTheSDKs(t *testing.T) {
	bad := "a\xff\xfeb\xe2\x82"
	attrs := []attribute.KeyValue{
		attribute.String("", ""), attribute.String(bad, bad), attribute.Bool("no", false), attribute.Bool("yes", true),
		attribute.Int64("zero", 0), attribute.Int64("negative", -1), attribute.Float64("f", 0), attribute.ByteSlice("bytes", []byte(bad)),
		attribute.ByteSlice("no bytes", nil), {Key: "empty"},
		attribute.BoolSlice("bools", []bool{true, false}), attribute.Int64Slice("ints", []int64{0, -1, 1 << 40}),
		attribute.Float64Slice("floats", []float64{0, .5}), attribute.StringSlice("strings", []string{"", bad}), attribute.StringSlice("none", nil),
		{Key: "list", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue(bad), attribute.Value{}, attribute.SliceValue())},
		{Key: "map", Value: attribute.MapValue(attribute.String(bad, "v"), attribute.KeyValue{}, attribute.KeyValue{Key: "m", Value: attribute.MapValue()})},
	}
	id := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 0xff}
	remote := id
	remote.Remote = true
	for name, s := range map[string]tracetest.SpanStub{
		"zero":            {},
		"attributes":      {Attributes: attrs},
		"wrong text":      {Name: bad, Status: sdktrace.Status{Code: codes.Error, Description: bad}, InstrumentationScope: instrumentation.Scope{Name: bad, Version: bad, SchemaURL: bad}},
		"scope":           {InstrumentationScope: instrumentation.Scope{Name: "n", Attributes: attribute.NewSet(attrs...)}},
		"only schema":     {InstrumentationScope: instrumentation.Scope{SchemaURL: "s"}},
		"resource":        {Resource: resource.NewWithAttributes(bad, attrs...)},
		"empty resource":  {Resource: resource.Empty()},
		"context":         {SpanContext: trace.NewSpanContext(remote), Parent: trace.NewSpanContext(id)},
		"remote parent":   {SpanContext: trace.NewSpanContext(id), Parent: trace.NewSpanContext(remote)},
		"status":          {Status: sdktrace.Status{Code: codes.Ok}},
		"unknown status":  {Status: sdktrace.Status{Code: 17, Description: "?"}},
		"unknown kind":    {SpanKind: 17},
		"consumer":        {SpanKind: trace.SpanKindConsumer},
		"dropped":         {DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3},
		"dropped too few": {DroppedAttributes: -1, DroppedEvents: -2, DroppedLinks: -3},
		"dropped a lot":   {DroppedAttributes: math.MaxInt, DroppedEvents: math.MaxInt - 1, DroppedLinks: math.MaxInt32},
		"times":           {StartTime: testTime, EndTime: testTime.Add(time.Hour)},
		"before 1970":     {StartTime: time.Unix(-1, 0), EndTime: time.Unix(0, 0)},
		"after 2262":      {StartTime: time.Date(2500, 1, 1, 0, 0, 0, 0, time.UTC), EndTime: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
		"events":          {Events: []sdktrace.Event{{}, {Name: bad, Time: testTime, Attributes: attrs, DroppedAttributeCount: 7}}},
		"links":           {Links: []sdktrace.Link{{}, {SpanContext: trace.NewSpanContext(remote), Attributes: attrs, DroppedAttributeCount: 7}}},
	} {
		t.Run(name, func(t *testing.T) {
			spans := []sdktrace.ReadOnlySpan{s.Snapshot()}
			got, all := byUs(t, spans)
			spanfuzz.Equal(t, got, spanfuzz.BySDK(t, spans))
			decodesTo(t, all[0], spans[0], strings.Contains(name, "attr"))
		})
	}
}

// A length takes one byte more at 128, 16 384 and 2 097 152 bytes. All messages around the text have such a length at
// one of the sizes.
func TestLengths(t *testing.T) {
	for _, limit := range []int{1 << 7, 1 << 14, 1 << 21} {
		step := 1 + limit>>16 // few of the largest
		for n := limit - 60; n <= limit+step; n += step {
			text := strings.Repeat("x", n)
			list := attribute.SliceValue(attribute.StringValue(text), attribute.Value{})
			spans := tracetest.SpanStubs{
				{Name: text}, {Attributes: []attribute.KeyValue{attribute.String("k", text), {Key: "l", Value: list}}}, {Events: []sdktrace.Event{{Name: text}}},
			}.Snapshots()
			got, _ := byUs(t, spans)
			spanfuzz.Equal(t, got, spanfuzz.BySDK(t, spans))
		}
	}
}

func nested(depth int, inMap bool) attribute.Value {
	v := attribute.StringValue("innermost")
	for range depth {
		if inMap {
			v = attribute.MapValue(attribute.KeyValue{Key: "k", Value: v})
		} else {
			v = attribute.SliceValue(v, attribute.BoolValue(true))
		}
	}
	return v
}

// No receiver refuses a request for a value that is nested deep: what is deeper is a text.
func TestDepth(t *testing.T) {
	for _, inMap := range []bool{false, true} {
		for _, depth := range []int{1, otlpenc.MaxDepth, otlpenc.MaxDepth + 1, 5000} {
			t.Run(fmt.Sprintf("%d lists, maps %v", depth, inMap), func(t *testing.T) {
				deep := []attribute.KeyValue{{Key: "deep", Value: nested(depth, inMap)}}
				spans := []sdktrace.ReadOnlySpan{tracetest.SpanStub{Attributes: deep, Events: []sdktrace.Event{{Attributes: deep}}}.Snapshot()}
				got, all := byUs(t, spans)
				if depth <= otlpenc.MaxDepth {
					spanfuzz.Equal(t, got, spanfuzz.BySDK(t, spans))
				}
				if levels := levels(otlpenc.AppendRequest(nil, all)); levels > 100 {
					t.Errorf("messages are %d levels deep, receivers take 100", levels)
				}
				decodesTo(t, all[0], spans[0], false)
				if text := got.String(); strings.Contains(text, "nested too deep") != (depth > otlpenc.MaxDepth) || strings.Contains(text, "innermost") != (depth <= otlpenc.MaxDepth) {
					t.Errorf("%d lists within each other: %s", depth, text)
				}
			})
		}
	}
}

// levels returns how deep the messages in b are within each other, at most: some are texts.
func levels(b []byte) int {
	deepest := 0
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return 0 // a text
		}
		size := protowire.ConsumeFieldValue(num, typ, b[n:])
		if size < 0 {
			return 0
		}
		if typ == protowire.BytesType {
			body, _ := protowire.ConsumeBytes(b[n:])
			deepest = max(deepest, 1+levels(body))
		}
		b = b[n+size:]
	}
	return deepest
}

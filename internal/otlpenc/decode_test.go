package otlpenc_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpenc"
)

func TestAll(t *testing.T) {
	attrs := []attribute.KeyValue{
		attribute.String("s", "text"), attribute.Bool("b", true), attribute.Int("i", -7), attribute.Float64("f", 1.5), attribute.ByteSlice("y", []byte{0xff}),
		attribute.StringSlice("ss", []string{"a", "b", "c", "d", "e", "f", "g"}), attribute.BoolSlice("bs", []bool{true}), attribute.IntSlice("is", []int{1, 2}),
		attribute.Float64Slice("fs", []float64{.5}), {Key: "none"},
		{Key: "l", Value: attribute.SliceValue(attribute.IntValue(1), attribute.StringValue("x"))},
		{Key: "m", Value: attribute.MapValue(attribute.Int("a", 1), attribute.String("b", "2"))},
	}
	state, err := trace.ParseTraceState("vendor=1,other=2")
	if err != nil {
		t.Fatal(err)
	}
	linked := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{9}, SpanID: trace.SpanID{8}, TraceFlags: 1, Remote: true})
	s := tracetest.SpanStub{
		Name:        "name",
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1, TraceState: state}),
		Parent:      trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{3}, Remote: true}),
		SpanKind:    trace.SpanKindServer, StartTime: testTime, EndTime: testTime.Add(time.Second), Attributes: attrs,
		Events:            []sdktrace.Event{{Name: "event", Time: testTime, Attributes: attrs, DroppedAttributeCount: 4}},
		Links:             []sdktrace.Link{{SpanContext: linked, Attributes: attrs, DroppedAttributeCount: 5}},
		Status:            sdktrace.Status{Code: codes.Error, Description: "failed"},
		DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3,
		Resource: testResource, InstrumentationScope: instrumentation.Scope{Name: "scope"},
	}.Snapshot()
	var groups otlpenc.Groups
	encoded := encodeIn(&groups, s)
	start := time.Unix(0, testTime.UnixNano())
	want := otlpenc.Span{
		Header: otlpenc.Header{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, ParentID: trace.SpanID{3}, Remote: true, TraceFlags: 1, Start: start, End: start.Add(time.Second)},
		Group:  encoded.Group(), TraceState: "vendor=1,other=2", Name: "name", Kind: trace.SpanKindServer, Attributes: attrs,
		Events: []sdktrace.Event{{Name: "event", Time: start, Attributes: attrs, DroppedAttributeCount: 4}}, Links: s.Links(), Status: s.Status(),
		DroppedAttributes: 1, DroppedEvents: 2, DroppedLinks: 3,
	}
	for got, err := range encoded.All() {
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
		if got.Group.Resource() != testResource || got.Group.Scope().Name != "scope" {
			t.Errorf("resource %v, scope %v", got.Group.Resource(), got.Group.Scope())
		}
	}
	copied := encoded
	for got, err := range copied.All() {
		for i := range encoded.Bytes {
			encoded.Bytes[i] = 'x'
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("a decoded span changes with its bytes: %+v", got)
		}
	}
}

// A reader that has seen enough ends the loop.
func TestBreak(t *testing.T) {
	s := encode(request(t)[0])
	spans := otlpenc.Spans{Bytes: append(s, s...), Count: 2}
	count := 0
	for _, err := range spans.All() {
		count++
		if err == nil {
			break
		}
	}
	if count != 1 {
		t.Errorf("%d spans, want 1", count)
	}
}

// An attribute that the encoder would not write, because its lists are too deep within each other.
func TestDecodeTooDeep(t *testing.T) {
	var value []byte
	for range otlpenc.MaxDepth + 1 {
		list := protowire.AppendBytes([]byte{0x0a}, value)
		value = protowire.AppendBytes([]byte{0x2a}, list)
	}
	attribute := protowire.AppendBytes([]byte{0x12}, value)
	span := protowire.AppendBytes([]byte{0x4a}, attribute)
	spans := otlpenc.Spans{Bytes: protowire.AppendBytes([]byte{0x12}, span), Count: 1}
	for s, err := range spans.All() {
		if err == nil || !strings.Contains(err.Error(), "more than 30 lists and maps within each other") {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for name, c := range map[string]struct{ bytes, want string }{
		"not a span":      {"\x1a\x01s", "field 3 of type 2 among spans"},
		"cut":             {"\x12\x05\x0a", "unexpected EOF"},
		"cut in a tag":    {"\x12\x01\x80", "unexpected EOF"},
		"field 0":         {"\x12\x02\x02\x00", "invalid field number"},
		"type 7":          {"\x12\x02\x0f\x00", "reserved wire type"},
		"long id":         {"\x12\x0b\x12\x09123456789", "id 313233343536373839 has 9 bytes, want 8"},
		"cut attribute":   {"\x12\x04\x4a\x02\x0a\x05", "unexpected EOF"},
		"cut event":       {"\x12\x04\x5a\x02\x0a\x05", "unexpected EOF"},
		"cut link":        {"\x12\x04\x6a\x02\x0a\x05", "unexpected EOF"},
		"wrong id of one": {"\x12\x07\x6a\x05\x0a\x03abc", "id 616263 has 3 bytes, want 16"},
		"cut status":      {"\x12\x04\x7a\x02\x0a\x05", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			good := encode(request(t)[0])
			spans := otlpenc.Spans{Bytes: append(good, c.bytes...), Count: 2}
			var errs []error
			for _, err := range spans.All() {
				errs = append(errs, err)
			}
			if len(errs) != 2 || errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), c.want) {
				t.Errorf("errors %v, want one, with %q", errs, c.want)
			}
		})
	}
}

// Fields of a later OTLP are skipped, and known numbers of another type.
func TestUnknownFields(t *testing.T) {
	body := string(encode(tracetest.SpanStub{Name: "name"}.Snapshot())[2:])
	body += "\xf8\x07\x01"             // field 127
	body += "\x28\x05"                 // a number as the name
	body += "\x33\x08\x01\x34"         // a group as the kind
	body += "\x4a\x04\x18\x01\x20\x02" // an attribute without key and value
	spans := otlpenc.Spans{Bytes: append([]byte{0x12, byte(len(body))}, body...), Count: 1}
	for s, err := range spans.All() {
		if err != nil || s.Name != "name" || s.Kind != trace.SpanKindUnspecified || len(s.Attributes) != 1 || s.Attributes[0] != (attribute.KeyValue{}) {
			t.Errorf("%+v, %v", s, err)
		}
	}
}

// Cut returns whole items in their order, within the bounds. A delivery cuts spans as records.
func TestCut(t *testing.T) {
	var all otlpenc.Records
	var sizes []int
	for i := range 9 {
		before := len(all.Bytes)
		all.Bytes = append(all.Bytes, encode(tracetest.SpanStub{Name: strings.Repeat("n", 50*i)}.Snapshot())...)
		sizes = append(sizes, len(all.Bytes)-before)
		all.Count++
	}
	for _, bound := range []struct{ count, bytes int }{{1, 1 << 20}, {2, 1 << 20}, {100, 0}, {100, 400}, {3, 700}, {9, 1 << 20}, {0, 0}} {
		var joined []byte
		spans := 0
		for first, others := all.Cut(bound.count, bound.bytes); ; first, others = others.Cut(bound.count, bound.bytes) {
			if first.Count > max(bound.count, 1) || first.Count > 1 && len(first.Bytes) > bound.bytes {
				t.Errorf("within %v: %d spans of %d bytes", bound, first.Count, len(first.Bytes))
			}
			if next := spans + first.Count; next < len(sizes) && first.Count < bound.count && len(first.Bytes)+sizes[next] <= bound.bytes {
				t.Errorf("within %v: there was room for span %d", bound, next)
			}
			joined = append(joined, first.Bytes...)
			spans += first.Count
			if len(others.Bytes) == 0 {
				break
			}
		}
		if spans != all.Count || !bytes.Equal(joined, all.Bytes) {
			t.Errorf("within %v: %d spans of %d bytes came back, want %d of %d", bound, spans, len(joined), all.Count, len(all.Bytes))
		}
	}
	malformed := otlpenc.Records{Bytes: []byte{0xff, 1, 2}, Count: 3}
	if first, others := malformed.Cut(1, 1); !bytes.Equal(first.Bytes, malformed.Bytes) || first.Count != 3 || len(others.Bytes) != 0 {
		t.Errorf("malformed spans are cut into %v and %v", first, others)
	}
}

package otlpenc_test

import (
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/spanfuzz"
)

// One HTTP request: 4 spans with 5 events and 16 attributes.

func BenchmarkSDK(b *testing.B) {
	spans := request(b)
	var k spanfuzz.Client
	sdk, err := otlptrace.New(b.Context(), &k)
	if err != nil {
		b.Fatal(err)
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		k.Sent = k.Sent[:0]
		if err := sdk.ExportSpans(b.Context(), spans); err != nil {
			b.Fatal(err)
		}
		if buf, err = (proto.MarshalOptions{}).MarshalAppend(buf[:0], &tracepb.TracesData{ResourceSpans: k.Sent}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}

// The whole way, as the SDK's.
func BenchmarkRequest(b *testing.B) {
	spans := request(b)
	var groups otlpenc.Groups
	var buf, body []byte
	all := make([]otlpenc.Spans, 0, len(spans))
	b.ReportAllocs()
	for b.Loop() {
		buf, all = buf[:0], all[:0]
		for _, s := range spans {
			from := len(buf)
			groups.Encode(s, func(one otlpenc.Spans) {
				buf = append(buf, one.Bytes...)
				all = append(all, otlpenc.NewSpans(one.Group(), buf[from:], 1))
			})
		}
		body = otlpenc.AppendRequest(body[:0], all)
	}
	b.ReportMetric(float64(len(body)), "bytes")
}

func encoded(tb testing.TB) otlpenc.Spans {
	tb.Helper()
	var groups otlpenc.Groups
	spans := otlpenc.Spans{}
	for _, s := range request(tb) {
		one := encodeIn(&groups, s)
		spans = otlpenc.NewSpans(one.Group(), append(spans.Bytes, one.Bytes...), spans.Count+1)
	}
	return spans
}

func BenchmarkFirst(b *testing.B) {
	spans := encoded(b)
	b.ReportAllocs()
	for b.Loop() {
		var h otlpenc.Header
		for rest := spans; len(rest.Bytes) > 0; {
			n, err := rest.First(&h)
			if err != nil {
				b.Fatal(err)
			}
			rest.Bytes = rest.Bytes[n:]
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	spans := request(b)
	var groups otlpenc.Groups
	b.ReportAllocs()
	for b.Loop() {
		for _, s := range spans {
			groups.Encode(s, func(otlpenc.Spans) {})
		}
	}
}

func BenchmarkAll(b *testing.B) {
	spans := encoded(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range spans.All() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

package otlpenc_test

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

func TestEncode(t *testing.T) {
	var groups otlpenc.Groups
	for _, s := range request(t) {
		groups.Encode(s, func(got otlpenc.Spans) {
			groups.Encode(tracetest.SpanStub{Name: "another within the call"}.Snapshot(), func(otlpenc.Spans) {})
			if got.Group != groups.Of(s) || got.Count != 1 || !bytes.Equal(got.Bytes, otlpenc.AppendSpan(nil, s)) || cap(got.Bytes) != len(got.Bytes) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// First takes the spans one by one, without a copy.
func TestFirst(t *testing.T) {
	var groups otlpenc.Groups
	var rest otlpenc.Spans
	spans := request(t)
	for _, s := range spans {
		rest.Group = groups.Of(s)
		rest.Bytes = otlpenc.AppendSpan(rest.Bytes, s)
	}
	for _, s := range spans {
		h, one, err := rest.First()
		if err != nil || h.SpanID != s.SpanContext().SpanID() || !bytes.Equal(one.Bytes, otlpenc.AppendSpan(nil, s)) || one.Group != rest.Group || one.Count != 1 {
			t.Fatalf("got %+v %+v, %v, want span %v", h, one, err, s.SpanContext().SpanID())
		}
		if !h.TraceFlags.IsSampled() || h.Duration() != s.EndTime().Sub(s.StartTime()) {
			t.Errorf("got %+v", h)
		}
		rest.Bytes = rest.Bytes[len(one.Bytes):]
	}
	for name, b := range map[string]string{
		"another field": "\x0a\x00", "cut": "\x12\x05\x0a", "short id": "\x12\x03\x0a\x01x", "no length": "\x12",
	} {
		if h, one, err := (otlpenc.Spans{Bytes: []byte(b)}).First(); err == nil || h != (otlpenc.Header{}) || one.Bytes != nil {
			t.Errorf("%s: got %+v %+v, want an error", name, h, one)
		}
	}
	s := otlpenc.AppendSpan(nil, spans[0])
	h, _, err := (otlpenc.Spans{Bytes: s}).First()
	if err != nil || h.TraceFlags != trace.FlagsSampled {
		t.Errorf("got %+v, %v", h, err)
	}
}

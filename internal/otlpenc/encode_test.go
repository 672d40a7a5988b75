package otlpenc_test

import (
	"bytes"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/perfline/perfline/internal/otlpenc"
)

func TestEncode(t *testing.T) {
	var groups otlpenc.Groups
	for _, s := range request(t) {
		groups.Encode(s, func(got otlpenc.Spans) {
			groups.Encode(tracetest.SpanStub{Name: "another within the call"}.Snapshot(), func(otlpenc.Spans) {})
			root, isRoot := otlpenc.RootOf(s)
			if got.TraceID != s.SpanContext().TraceID() || isRoot != (got.Root() != nil) || isRoot && *got.Root() != root {
				t.Errorf("got %+v with the root %+v", got, got.Root())
			}
			if got.Group() != groupOf(&groups, s) || got.Count != 1 || !bytes.Equal(got.Bytes, encode(s)) || cap(got.Bytes) != len(got.Bytes) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// First takes the spans one by one, without a copy.
func TestFirst(t *testing.T) {
	var rest otlpenc.Spans
	spans := request(t)
	for _, s := range spans {
		rest.Bytes = append(rest.Bytes, encode(s)...)
	}
	var h otlpenc.Header
	for _, s := range spans {
		n, err := rest.First(&h)
		if err != nil || h.SpanID != s.SpanContext().SpanID() || !bytes.Equal(rest.Bytes[:n], encode(s)) {
			t.Fatalf("got %+v and %d bytes, %v, want span %v", h, n, err, s.SpanContext().SpanID())
		}
		if !h.TraceFlags.IsSampled() || h.Duration() != s.EndTime().Sub(s.StartTime()) {
			t.Errorf("got %+v", h)
		}
		rest.Bytes = rest.Bytes[n:]
	}
	for name, b := range map[string]string{
		"another field": "\x0a\x00", "cut": "\x12\x05\x0a", "short id": "\x12\x03\x0a\x01x", "no length": "\x12",
	} {
		if n, err := (otlpenc.Spans{Bytes: []byte(b)}).First(&h); err == nil || n != 0 {
			t.Errorf("%s: got %+v and %d bytes, want an error", name, h, n)
		}
	}
	s := encode(spans[0])
	_, size := protowire.ConsumeVarint(s[1:])
	body := s[1+size:]
	for n := range len(body) {
		cut := protowire.AppendBytes(append([]byte(nil), s[0]), body[:n])
		if size, err := (otlpenc.Spans{Bytes: cut}).First(&h); err == nil && size != len(cut) {
			t.Errorf("the first %d bytes of the body: size %d, want %d", n, size, len(cut))
		}
		if _, err := (otlpenc.Spans{Bytes: s[:len(s)-1-n]}).First(&h); err == nil {
			t.Errorf("without the last %d bytes: got %+v, want an error", n+1, h)
		}
	}
	if _, err := (otlpenc.Spans{Bytes: s}).First(&h); err != nil || h.TraceFlags != trace.FlagsSampled {
		t.Errorf("got %+v, %v", h, err)
	}
}

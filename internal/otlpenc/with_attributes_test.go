package otlpenc_test

import (
	"bytes"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
)

// Spans with further attributes are the spans that had them from the beginning, in the eyes of every receiver.
func TestWithAttributes(t *testing.T) {
	var groups otlpenc.Groups
	spans := request(t)
	all := otlpenc.NewSpans(groupOf(&groups, spans[0]), nil, 0)
	for _, s := range spans {
		all.Bytes, all.Count = append(all.Bytes, encode(s)...), all.Count+1
	}
	extra := []attribute.KeyValue{attribute.Float64("perfline.time.running", 0.5), attribute.String("perfline.cause", "a mutex")}
	some := spans[len(spans)-1].SpanContext().SpanID()
	more := func(id trace.SpanID) []attribute.KeyValue {
		if id == some {
			return extra
		}
		return nil
	}
	b, err := all.WithAttributes([]byte("before"), more)
	if err != nil || string(b[:6]) != "before" {
		t.Fatalf("%v, after %q", err, b[:6])
	}
	i := 0
	for got, err := range otlpenc.NewSpans(all.Group(), b[6:], 0).All() {
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Concat(spans[i].Attributes(), more(spans[i].SpanContext().SpanID()))
		if got.Name != spans[i].Name() || !slices.Equal(got.Attributes, want) || len(got.Events) != len(spans[i].Events()) {
			t.Errorf("got %+v, want the attributes %v", got, want)
		}
		i++
	}
	if i != len(spans) {
		t.Errorf("%d spans, want %d", i, len(spans))
	}
	b, err = all.WithAttributes(nil, func(trace.SpanID) []attribute.KeyValue { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b, all.Bytes) {
		t.Errorf("without further attributes, the spans are\n%x\nwant\n%x", b, all.Bytes)
	}
	cut := otlpenc.Spans{Bytes: all.Bytes[:len(all.Bytes)-1]}
	if _, err := cut.WithAttributes(nil, more); err == nil {
		t.Error("no error for spans that are cut")
	}
}

//go:build !race

// The race detector allocates itself.

package otlpenc_test

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

func TestAlloc(t *testing.T) {
	spans := request(t)
	state, err := trace.ParseTraceState("vendor=1,other=2")
	if err != nil {
		t.Fatal(err)
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state})
	spans = append(spans, tracetest.SpanStub{SpanContext: sc}.Snapshot())
	var groups otlpenc.Groups
	var all []otlpenc.Spans
	for _, s := range spans {
		all = append(all, otlpenc.Spans{Group: groups.Of(s), Bytes: otlpenc.AppendSpan(nil, s), Count: 1})
	}
	buf := make([]byte, 0, 1<<14)
	for name, f := range map[string]func(){
		"AppendSpan": func() {
			for _, s := range spans {
				otlpenc.AppendSpan(buf, s)
			}
		},
		"Groups.Of": func() {
			for _, s := range spans {
				groups.Of(s)
			}
		},
		"AppendRequest": func() { otlpenc.AppendRequest(buf, all) },
		"RequestSize":   func() { otlpenc.RequestSize(all) },
		"Headers": func() {
			for _, one := range all {
				for _, err := range one.Headers() {
					if err != nil {
						t.Error(err)
					}
				}
			}
		},
		"First": func() {
			for _, one := range all {
				if _, _, err := one.First(); err != nil {
					t.Error(err)
				}
			}
		},
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// The bytes of spans share allocations, of which most spans make none, and a large span makes one.
func TestAllocEncode(t *testing.T) {
	var groups otlpenc.Groups
	const runs = 1000
	for _, s := range request(t) {
		n := testing.AllocsPerRun(1, func() {
			for range runs {
				groups.Encode(s)
			}
		})
		if rooms := float64(runs * len(groups.Encode(s).Bytes) / (7 << 10)); n > rooms+2 {
			t.Errorf("%v allocations for %d spans, want some %v", n, runs, rooms)
		}
	}
	huge := tracetest.SpanStub{Name: strings.Repeat("x", 1<<20)}.Snapshot()
	if b := groups.Encode(huge).Bytes; cap(b) != len(b) {
		t.Errorf("a huge span of %d bytes takes %d", len(b), cap(b))
	}
}

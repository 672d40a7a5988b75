//go:build !race

// The race detector allocates itself.

package otlpenc_test

import (
	"runtime"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
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
		"First": func() {
			for _, one := range all {
				var h otlpenc.Header
				if _, err := one.First(&h); err != nil {
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

// A span's bytes are one allocation of their length, whatever the size of the spans before.
func TestAllocEncodeOfAllSizes(t *testing.T) {
	var groups otlpenc.Groups
	var sizes []sdktrace.ReadOnlySpan
	for n := 40; n < 64_000; n = n*5/4 + 1 {
		sizes = append(sizes, tracetest.SpanStub{Name: strings.Repeat("x", n)}.Snapshot())
	}
	for name, spans := range map[string][]sdktrace.ReadOnlySpan{"each size alone": nil, "a size after another": sizes, "an HTTP request": request(t)} {
		if spans != nil {
			if n := testing.AllocsPerRun(100, func() { encodeAll(t, &groups, spans) }); n > float64(len(spans)) {
				t.Errorf("%s: %v allocations for %d spans", name, n, len(spans))
			}
			continue
		}
		for _, s := range sizes {
			if n := testing.AllocsPerRun(100, func() { encodeAll(t, &groups, []sdktrace.ReadOnlySpan{s}) }); n > 1 {
				t.Errorf("%s: %v allocations for a span of %d bytes", name, n, len(groups.Encode(s).Bytes))
			}
		}
	}
	encodeAll(t, &groups, []sdktrace.ReadOnlySpan{tracetest.SpanStub{Name: strings.Repeat("x", 1<<20)}.Snapshot()})
}

func encodeAll(t *testing.T, groups *otlpenc.Groups, spans []sdktrace.ReadOnlySpan) {
	t.Helper()
	for _, s := range spans {
		if b := groups.Encode(s).Bytes; cap(b) != len(b) {
			t.Errorf("a span of %d bytes takes %d", len(b), cap(b))
		}
	}
}

// A span that waits keeps no other span's bytes in memory.
func TestMemoryOfWaitingSpans(t *testing.T) {
	var groups otlpenc.Groups
	s := request(t)[0]
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	const count = 1000
	waiting := make([][]byte, 0, count)
	before := heap()
	for range count {
		waiting = append(waiting, groups.Encode(s).Bytes)
		for range 20 {
			groups.Encode(s)
		}
	}
	if used, most := heap()-before, uint64(count*len(waiting[0])*3/2); used > most {
		t.Errorf("%d spans of %d bytes take %d, want %d at most", count, len(waiting[0]), used, most)
	}
	runtime.KeepAlive(waiting)
}

// A request is one allocation, however many spans it has.
func TestAllocAppendRequest(t *testing.T) {
	var groups otlpenc.Groups
	var all []otlpenc.Spans
	spans := request(t)
	for range 100 {
		for _, s := range spans {
			all = append(all, groups.Encode(s))
		}
	}
	if n := testing.AllocsPerRun(100, func() { otlpenc.AppendRequest(nil, all) }); n > 1 {
		t.Errorf("%v allocations for a request of %d spans, want 1", n, len(all))
	}
}

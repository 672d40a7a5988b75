//go:build !race

// The race detector allocates itself.

package otlpenc_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/otlpenc"
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
		all = append(all, encodeIn(&groups, s))
	}
	buf := make([]byte, 0, 1<<14)
	for name, f := range map[string]func(){
		"Encode": func() {
			for _, s := range spans {
				groups.Encode(s, func(otlpenc.Spans) {})
			}
		},
		"AppendRequest": func() { otlpenc.AppendRequest(buf, all) },
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

// Groups that are in use are found without an allocation, also if there were many others before.
func TestAllocGroupsAfterManyOthers(t *testing.T) {
	var groups otlpenc.Groups
	scope := func(i int) sdktrace.ReadOnlySpan {
		return tracetest.SpanStub{InstrumentationScope: instrumentation.Scope{Name: fmt.Sprint("tracer ", i)}}.Snapshot()
	}
	for i := range 500 {
		groupOf(&groups, scope(i))
	}
	last := scope(1000)
	if n := testing.AllocsPerRun(100, func() { groups.Encode(last, func(otlpenc.Spans) {}) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// Encode allocates nothing for spans of up to 1 KiB, whatever the size of the spans before.
func TestAllocEncodeOfAllSizes(t *testing.T) {
	var groups otlpenc.Groups
	all := map[string][]sdktrace.ReadOnlySpan{"an HTTP request": request(t)}
	for n := 40; n < 950; n = n*5/4 + 1 {
		s := tracetest.SpanStub{Name: strings.Repeat("x", n)}.Snapshot()
		all["a size after another"] = append(all["a size after another"], s)
		all[fmt.Sprint("alone with a name of ", n)] = []sdktrace.ReadOnlySpan{s}
	}
	count := 0
	for name, spans := range all {
		if n := testing.AllocsPerRun(100, func() {
			for _, s := range spans {
				groups.Encode(s, func(one otlpenc.Spans) { count += one.Count })
			}
		}); n > 0 {
			t.Errorf("%s: %v allocations for %d spans", name, n, len(spans))
		}
	}
}

// Append and AppendRequest allocate nothing for a log record if the buffer has room.
func TestAllocLogRecord(t *testing.T) {
	group := new(otlpenc.Groups).Group(testResource, instrumentation.Scope{Name: "scope"})
	long := strings.Repeat("x", 20_000)
	for name, l := range map[string]logged{
		"plain attributes": {group: group, record: otlpenc.LogRecord{Time: testTime, EventName: "e"}, detail: detailWithoutRepair},
		"attributes": {group: group, record: otlpenc.LogRecord{Time: testTime, EventName: "e", Body: attribute.StringValue(long), Attributes: []attribute.KeyValue{
			attribute.String("s", long), attribute.Int64("i", -1), attribute.Bool("b", true), attribute.Float64("f", .5), {Key: "empty"}}}},
		"everything": {group: group, record: otlpenc.LogRecord{Time: testTime, ObservedTime: testTime, Severity: 9, SeverityText: "INFO", EventName: long, Body: attribute.IntValue(1),
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1}), DroppedAttributes: 3}},
	} {
		buf := make([]byte, 0, 1<<17)
		if n := testing.AllocsPerRun(100, func() { l.record.Append(buf, l.detail) }); n != 0 {
			t.Errorf("Append of %s: %v allocations, want 0", name, n)
		}
		all := []otlpenc.Records{l.encode(), l.encode()}
		if n := testing.AllocsPerRun(100, func() { otlpenc.AppendRequest(buf, all) }); n != 0 {
			t.Errorf("AppendRequest of %s: %v allocations, want 0", name, n)
		}
	}
}

// detailWithoutRepair has plain attributes of all kinds, with texts that are UTF-8. An unsigned number above the range of int64 becomes a text.
var detailWithoutRepair = []slog.Attr{
	slog.Bool("b", true), slog.Int64("i", -1), slog.Uint64("u", 1), slog.Float64("f", .5), slog.String("s", strings.Repeat("ä", 10_000)),
	slog.Duration("d", time.Second), slog.Time("t", testTime),
}

// A request is one allocation, however many spans it has.
func TestAllocAppendRequest(t *testing.T) {
	var groups otlpenc.Groups
	var all []otlpenc.Spans
	spans := request(t)
	for range 100 {
		for _, s := range spans {
			all = append(all, encodeIn(&groups, s))
		}
	}
	if n := testing.AllocsPerRun(100, func() { otlpenc.AppendRequest(nil, all) }); n > 1 {
		t.Errorf("%v allocations for a request of %d spans, want 1", n, len(all))
	}
}

// A Writer allocates nothing once the blocks before have been released.
func TestAllocWriter(t *testing.T) {
	var w otlpenc.Writer
	item := make([]byte, 1000)
	if n := testing.AllocsPerRun(100, func() {
		var kept [100]otlpenc.Spans
		for i := range kept {
			s := w.Spans(otlpenc.Spans{Bytes: append(w.Next(), item...)})
			kept[i] = s.Retain()
			s.Release()
		}
		for _, s := range kept {
			s.Release()
		}
	}); n > 0 {
		t.Errorf("%v allocations for 100 items, want 0", n)
	}
}

// Large items take little more memory than they have bytes.
func TestAllocLargeItems(t *testing.T) {
	const items = 100
	for n := 5000; n < 60_000; n = n*6/5 + 1 {
		var w otlpenc.Writer
		var all []otlpenc.Spans
		piece := make([]byte, 100)
		before := garbage.Heap()
		for range items {
			b := w.Next()
			for len(b) < n {
				b = append(b, piece...)
			}
			all = append(all, w.Spans(otlpenc.Spans{Bytes: b}))
		}
		used, most := garbage.Heap()-before, items*(n+100)*5/4+1<<16
		if used > most {
			t.Errorf("%d items of %d bytes take %d bytes, want %d at most", items, n, used, most)
		}
		for _, s := range all {
			s.Release()
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// requestOf is a request for Export with spans of those traces, in two resources.
func requestOf(t *testing.T, ids ...byte) []byte {
	t.Helper()
	traces := ptrace.NewTraces()
	for i := range 2 {
		resource := traces.ResourceSpans().AppendEmpty()
		resource.Resource().Attributes().PutStr("service.name", fmt.Sprint("shop ", i))
		scope := resource.ScopeSpans().AppendEmpty()
		scope.Scope().SetName("perfline")
		for n, id := range ids {
			if n%2 != i {
				continue
			}
			span := scope.Spans().AppendEmpty()
			span.SetName("GET /")
			span.SetTraceID(pcommon.TraceID{id, 1, 2, 3})
			span.SetSpanID(pcommon.SpanID{byte(n + 1)})
			span.Events().AppendEmpty().SetName("event")
		}
	}
	request, err := ptraceotlp.NewExportRequestFromTraces(traces).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// idsOf are the trace ids of a request, decoded by the Collector's own types.
func idsOf(t *testing.T, request []byte) (ids []pcommon.TraceID) {
	t.Helper()
	decoded := ptraceotlp.NewExportRequest()
	if err := decoded.UnmarshalProto(request); err != nil {
		t.Fatal(err)
	}
	for _, r := range decoded.Traces().ResourceSpans().All() {
		for _, s := range r.ScopeSpans().All() {
			for _, span := range s.Spans().All() {
				ids = append(ids, span.TraceID())
			}
		}
	}
	return ids
}

func TestRenewedBatchesHaveTracesOfTheirOwn(t *testing.T) {
	request := requestOf(t, 7, 8, 7, 9, 9)
	b, err := newBatch(request)
	if err != nil {
		t.Fatal(err)
	}
	if b.spans() != 5 {
		t.Fatalf("the batch has %d spans, want 5", b.spans())
	}
	original := idsOf(t, request)
	seen := map[pcommon.TraceID]uint64{}
	for number := range uint64(100) {
		renewed := idsOf(t, b.renewed(number))
		if len(renewed) != len(original) {
			t.Fatalf("number %d has %d spans, want %d", number, len(renewed), len(original))
		}
		for i, id := range renewed {
			for j := range renewed {
				if (id == renewed[j]) != (original[i] == original[j]) {
					t.Fatalf("number %d: spans %d and %d: traces are not those of the original", number, i, j)
				}
			}
			if other, ok := seen[id]; ok && other != number {
				t.Fatalf("numbers %d and %d share the trace %s", other, number, id)
			}
			seen[id] = number
		}
	}
	if !bytes.Equal(request, requestOf(t, 7, 8, 7, 9, 9)) {
		t.Error("the batch itself has changed")
	}
}

func TestWhatIsNoBatch(t *testing.T) {
	whole := requestOf(t, 1, 2)
	for _, c := range []struct {
		name    string
		request []byte
		want    string
	}{
		{"nothing", nil, "without spans"},
		{"no spans", requestOf(t), "without spans"},
		{"cut off", whole[:len(whole)-1], "EOF"},
		{"no message", []byte{0x08, 0x01}, "wire type"},
		{"a span without a trace", []byte{0x0a, 6, 0x12, 4, 0x12, 2, 0x2a, 0}, "0 trace ids"},
		{"a short trace id", []byte{0x0a, 7, 0x12, 5, 0x12, 3, 0x0a, 1, 9}, "trace id of 1 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := newBatch(c.request); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want one with %q", err, c.want)
			}
		})
	}
}

// What is sent arrives, and is counted.
func TestSenderAndSink(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := startSink(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	b, err := newBatch(requestOf(t, 1, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	from, err := newSender(s.address, b)
	if err != nil {
		t.Fatal(err)
	}
	defer from.close()
	r := from.steadily(ctx, 300, 200*time.Millisecond) // a batch each 10 ms
	if r.refused != 0 || r.batches+r.unsent != 20 || len(r.latencies) != r.batches {
		t.Fatalf("of 20 batches %d were sent, %d not, %d refused: %v; %d latencies", r.batches, r.unsent, r.refused, r.err, len(r.latencies))
	}
	want := int64(3 * r.batches)
	if got := s.spans.Load(); got != want {
		t.Errorf("%d spans arrived, want %d", got, want)
	}
	if captured, err := s.batch(); err != nil || captured.spans() != 3 {
		t.Errorf("the sink's batch is %v, %v, want one of 3 spans", captured, err)
	}
	s.stop()
	if r := from.steadily(ctx, 300, 20*time.Millisecond); r.refused != r.batches || r.err == nil {
		t.Errorf("without the sink %d of %d batches are refused: %v", r.refused, r.batches, r.err)
	}
}

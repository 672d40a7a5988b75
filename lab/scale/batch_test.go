package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// tracesOf are spans of those traces, in two resources. The first has no parent, and failed.
func tracesOf(ids ...byte) ptrace.Traces {
	traces := ptrace.NewTraces()
	for i := range 2 {
		resource := traces.ResourceSpans().AppendEmpty()
		resource.Resource().Attributes().PutStr("service.name", fmt.Sprint("shop ", i))
		scope := resource.ScopeSpans().AppendEmpty()
		for n, id := range ids {
			if n%2 != i {
				continue
			}
			span := scope.Spans().AppendEmpty()
			span.SetKind(ptrace.SpanKindServer)
			span.SetTraceID(pcommon.TraceID{id, 1, 2, 3})
			span.SetSpanID(pcommon.SpanID{byte(n + 1)})
			if n == 0 {
				span.Status().SetCode(ptrace.StatusCodeError)
			} else {
				span.SetParentSpanID(pcommon.SpanID{1})
			}
			span.Events().AppendEmpty().SetName("event")
		}
	}
	return traces
}

func idsOf(traces ptrace.Traces) (ids []pcommon.TraceID) {
	for span := range spansOf(traces) {
		ids = append(ids, span.TraceID())
	}
	return ids
}

func TestRenewedBatchesHaveTracesOfTheirOwn(t *testing.T) {
	b := newBatch(tracesOf(7, 8, 7, 9, 9))
	if b.spans() != 5 {
		t.Fatalf("the batch has %d spans, want 5", b.spans())
	}
	original := idsOf(b.traces)
	seen := map[pcommon.TraceID]uint64{}
	for number := range uint64(100) {
		renewed := idsOf(b.renewed(number).Traces())
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
}

// Spans that are sent arrive, and are counted.
func TestSenderAndSink(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := startSink(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer s.stop()
	if _, err := s.batch(); err == nil {
		t.Error("a sink without spans has a batch")
	}
	b := newBatch(tracesOf(1, 2, 3))
	from, err := newSender(s.address, b)
	if err != nil {
		t.Fatal(err)
	}
	defer from.close()
	r := from.steadily(ctx, 30, 2*time.Second) // a batch each 100 ms
	if r.Failed != 0 || r.Answered+r.Unsent != 20 {
		t.Fatalf("of 20 batches %d were taken, %d not sent, %d refused: %v", r.Answered, r.Unsent, r.Failed, r.Err())
	}
	if got, want := s.taken(), (counts{spans: 3 * r.Answered, requests: r.Answered, failed: r.Answered, bytes: b.bytes() * r.Answered}); got != want {
		t.Errorf("the sink counts %+v, want %+v", got, want)
	}
	if captured, err := s.batch(); err != nil || captured.spans() != 3 {
		t.Errorf("the sink's batch has %d spans, %v; want 3", captured.spans(), err)
	}
	s.stop()
	if r := from.steadily(ctx, 30, time.Second); r.Answered != 0 || r.Failed == 0 {
		t.Errorf("without the sink %+v, want all refused", r)
	}
}

package main

import (
	"encoding/binary"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// A batch is spans that can be sent again and again, each time with other trace ids.
type batch struct{ traces ptrace.Traces }

func newBatch(traces ptrace.Traces) batch {
	traces.MarkReadOnly() // several requests copy it at a time
	return batch{traces}
}

func (b batch) spans() int { return b.traces.SpanCount() }

// bytes is the size of the batch in OTLP, not compressed.
func (b batch) bytes() int { return encodedSize(b.traces) }

func encodedSize(traces ptrace.Traces) int { return new(ptrace.ProtoMarshaler).TracesSize(traces) }

// renewed is the batch with trace ids that no other number makes of it. Spans of one trace stay
// together.
func (b batch) renewed(number uint64) ptraceotlp.ExportRequest {
	traces := ptrace.NewTraces()
	b.traces.CopyTo(traces)
	for span := range spansOf(traces) {
		id := span.TraceID()
		// odd: every number gives another
		binary.BigEndian.PutUint64(id[:], binary.BigEndian.Uint64(id[:])+number*0x9e3779b97f4a7c15)
		span.SetTraceID(id)
	}
	return ptraceotlp.NewExportRequestFromTraces(traces)
}

// spansOf yields all spans.
func spansOf(traces ptrace.Traces) func(yield func(ptrace.Span) bool) {
	return func(yield func(ptrace.Span) bool) {
		for _, resource := range traces.ResourceSpans().All() {
			for _, scope := range resource.ScopeSpans().All() {
				for _, span := range scope.Spans().All() {
					if !yield(span) {
						return
					}
				}
			}
		}
	}
}

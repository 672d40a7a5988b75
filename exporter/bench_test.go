package exporter_test

import (
	"bytes"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/instrumentation"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/otlpenc"
)

// The cost of what an HTTP request hands over, three spans of about 860 bytes, with its share of the requests to a receiver.
func BenchmarkAccept(b *testing.B) {
	span := spanOf(strings.Repeat("s", 220))
	var groups otlpenc.Groups
	one := encode(&groups, span)
	var w otlpenc.Writer
	encoded := []bridge.Spans{write(&w, otlpenc.NewSpans(one.Group(), bytes.Repeat(one.Bytes, 3), 3))}
	benchmark(b, ofSpans, func(d sender) { d.(*spanSender).Accept(encoded) })
}

// The cost of a span that ends, with its share of the requests to a receiver.
func BenchmarkOnEnd(b *testing.B) {
	span := spanOf(strings.Repeat("s", 220))
	benchmark(b, ofSpans, func(d sender) { d.(*spanSender).OnEnd(span) })
}

// The cost of the marks of an HTTP request, three log records of about 80 bytes, with their share of the requests to a receiver.
func BenchmarkAcceptLogs(b *testing.B) {
	name := strings.Repeat("e", 70)
	records := recordsOf(new(otlpenc.Groups).Group(nil, instrumentation.Scope{}), name, name, name)
	benchmark(b, ofLogs, func(d sender) { d.(*logSender).AcceptLogs(records) })
}

func benchmark(b *testing.B, s signal, accept func(sender)) {
	b.Helper()
	d := s.lossless(b, exporter.Config{}, fine)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if accept(d); i%1024 == 0 {
			_ = d.ForceFlush(b.Context()) // so that none is dropped
		}
	}
}

package exporter_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/exporter/otlpenc"
)

// The cost of what an HTTP request hands over, three spans of about 860 bytes, with its share of the requests to a receiver.
func BenchmarkAccept(b *testing.B) {
	span := spanOf(strings.Repeat("s", 220))
	var groups otlpenc.Groups
	one := encode(&groups, span)
	encoded := otlpenc.Spans{Group: one.Group, Bytes: bytes.Repeat(one.Bytes, 3), Count: 3}
	benchmark(b, func(d *exporter.Delivery) { d.Accept(encoded) })
}

// The cost of a span that ends, with its share of the requests to a receiver.
func BenchmarkOnEnd(b *testing.B) {
	span := spanOf(strings.Repeat("s", 220))
	benchmark(b, func(d *exporter.Delivery) { d.OnEnd(span) })
}

func benchmark(b *testing.B, accept func(*exporter.Delivery)) {
	d := start(b, exporter.Config{}, fine)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if accept(d); i%1024 == 0 {
			_ = d.ForceFlush(b.Context()) // so that none is dropped
		}
	}
}

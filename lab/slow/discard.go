package main

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// discard takes spans in place of a backend.
type discard struct{}

var _ sdktrace.SpanExporter = discard{}

func (discard) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (discard) Shutdown(context.Context) error                             { return nil }

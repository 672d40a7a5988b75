package otlpenc

import (
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/local"
)

// RootOf returns the end of a span, which has ended. It returns false unless the span is a local root.
func RootOf(s sdktrace.ReadOnlySpan) (r local.Root, ok bool) {
	var room Snapshot
	ok = snapshotOf(s, &room).root(&r)
	return r, ok
}

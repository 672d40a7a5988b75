package bridge

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

const theIDGenerator = "the generator of ids"

// newIDs returns the ids of a root. They are random without a generator, and if that panics.
func (p *TracerProvider) newIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if p.ids != nil && p.timeline.Try(theIDGenerator, func() { t, s = p.ids.NewIDs(ctx) }) {
		return t, s
	}
	for !t.IsValid() {
		binary.NativeEndian.PutUint64(t[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(t[8:], rand.Uint64())
	}
	return t, randomSpanID()
}

// newSpanID returns the id of a span, as newIDs does.
func (p *TracerProvider) newSpanID(ctx context.Context, t trace.TraceID) (id trace.SpanID) {
	if p.ids != nil && p.timeline.Try(theIDGenerator, func() { id = p.ids.NewSpanID(ctx, t) }) {
		return id
	}
	return randomSpanID()
}

func randomSpanID() (s trace.SpanID) {
	for !s.IsValid() {
		binary.NativeEndian.PutUint64(s[:], rand.Uint64())
	}
	return s
}

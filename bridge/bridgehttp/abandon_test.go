package bridgehttp

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/observer"
)

// blocking is a span processor that waits.
type blocking struct{ release, ended chan struct{} }

func (b *blocking) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (b *blocking) ForceFlush(context.Context) error                { return nil }
func (b *blocking) Shutdown(context.Context) error                  { return nil }

func (b *blocking) OnEnd(sdktrace.ReadOnlySpan) {
	<-b.release
	close(b.ended)
}

// The runtime, which calls abandon, does not wait for span processors.
func TestAbandonDoesNotWait(t *testing.T) {
	b := &blocking{release: make(chan struct{}), ended: make(chan struct{})}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(b))
	ctx, span := tp.Tracer("t").Start(t.Context(), "call")
	c := &call{ctx: ctx, span: span, tl: observer.NewTimeline(observer.TimelineOptions{})}
	returned := make(chan struct{})
	go func() {
		c.abandon()
		close(returned)
	}()
	select {
	case <-returned:
	case <-time.After(10 * time.Second):
		t.Error("it waits for the processor")
	}
	close(b.release)
	<-b.ended
}

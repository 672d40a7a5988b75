package bridge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// panickingIDs makes ids of roots, and panics for all others.
type panickingIDs struct{}

func (panickingIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return trace.TraceID{1}, trace.SpanID{1}
}
func (panickingIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID { panic("no id") }

// A generator that panics ends neither the program, whose timeline hands over old units on a goroutine of its own, nor a
// goroutine that records. The measures arrive.
func TestMeasuresOfAGeneratorThatPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tp, got := ownProvider(t, bridge.TracerProviderConfig{
			Timeline: observer.NewTimeline(observer.TimelineOptions{}), IDs: panickingIDs{},
		})
		ctx, root := tp.Tracer("t").Start(t.Context(), "root")
		marks.Time(ctx, "leaf").End()
		_, started := marks.Start(ctx, "started")
		started.End()
		time.Sleep(time.Minute)
		synctest.Wait()
		spans := got.decoded(t)
		if len(spans) != 2 || !spans[0].SpanID.IsValid() || !spans[1].SpanID.IsValid() || spans[0].SpanID == spans[1].SpanID {
			t.Errorf("%d spans have arrived, want 2 with ids of their own: %+v", len(spans), spans)
		}
		root.End()
	})
}

//go:build lab

package bridge_test

import (
	"fmt"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// The heap has little for the open span of marks.Start, whatever is added to it.
func TestLabFilledMeasure(t *testing.T) {
	tp, _ := ownProvider(t, bridge.TracerProviderConfig{Timeline: observer.NewTimeline(observer.TimelineOptions{}), Limits: limits(func(l *sdktrace.SpanLimits) {
		l.EventCountLimit, l.LinkCountLimit, l.AttributeCountLimit = 128, 16, 32
	})})
	ctx, root := tp.Tracer("t").Start(t.Context(), "root")
	in, measure := marks.Start(ctx, "measure")
	before := heapInUse()
	fillMeasure(in, 20_000, func(kind string, i int) string { return fmt.Sprint(kind, i) })
	if grown := heapInUse() - before; grown > 4<<20 {
		t.Errorf("the open span takes %d KiB", grown>>10)
	}
	measure.End()
	root.End()
}

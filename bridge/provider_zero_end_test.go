package bridge_test

import (
	"math"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// The longest duration ends some spans at the zero time, which stands for spans that have not ended. They end all the same.
func TestSpanEndsAtTheZeroTime(t *testing.T) {
	var got recorder
	exported := &output{}
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Sampler: sdktrace.AlwaysSample(), Exporters: []bridge.Output{exported}, Processors: []sdktrace.SpanProcessor{&got},
	})
	_, span := p.Tracer("shop").Start(t.Context(), "old", trace.WithTimestamp(time.Time{}.Add(-math.MaxInt64)))
	span.End()
	if span.IsRecording() {
		t.Error("the span records after its end")
	}
	span.AddEvent("late")
	span.End()
	if n := len(got.all()); n != 1 {
		t.Errorf("a processor received the span %d times, want 1", n)
	}
	if exported.read(); exported.count != 1 {
		t.Errorf("the span is exported %d times, want 1", exported.count)
	}
	if n := len(got.one(t, "old").Events()); n != 0 {
		t.Errorf("the span has %d events that came after its end", n)
	}
}

package requests_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
)

// A request is among the slowest until another one ends more than an hour later, also when older ones left before it.
func TestSlowestOfTheLastHour(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: -1})
	for i, c := range []struct {
		end, took time.Duration
		want      string
	}{
		{2 * time.Minute, time.Minute, "0"},
		{50 * time.Minute, 2 * time.Second, "0 1"},
		{62 * time.Minute, time.Second, "0 1 2"},
		{65 * time.Minute, time.Millisecond, "1 2 3"},
		{110 * time.Minute, time.Millisecond, "1 2 4 3"},
		{115 * time.Minute, time.Microsecond, "2 4 3 5"},
		{10 * time.Minute, time.Hour, "6 2 4 3 5"}, // it ended long before it arrived
		{116 * time.Minute, time.Microsecond, "2 4 3 7 5"},
	} {
		r.OnEnd(span(i+1, 1, 0, fmt.Sprint(i), c.end-c.took, c.end))
		if got := strings.Join(rootNames(decoded(r.Slowest())), " "); got != c.want {
			t.Errorf("after request %d, the slowest are %s, want %s", i, got, c.want)
		}
	}
}

// A request inside another one takes no place among the slowest, and is among the newest.
func TestSlowestAreNotInsideOthers(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}), Recorders: []bridge.Output{r},
	})
	defer func() { _ = provider.Shutdown(context.Background()) }()
	tracer := provider.Tracer("test")
	outer, gateway := tracer.Start(t.Context(), "GET /gateway", trace.WithSpanKind(trace.SpanKindServer))
	_, call := tracer.Start(outer, "GET", trace.WithSpanKind(trace.SpanKindClient))
	_, inner := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), call.SpanContext()), "GET /inner", trace.WithSpanKind(trace.SpanKindServer))
	inner.End()
	call.End()
	gateway.End()
	if err := provider.ForceFlush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(rootNames(decoded(r.Slowest())), " "); got != "GET /gateway" {
		t.Errorf("the slowest are %s, want GET /gateway", got)
	}
	if got := strings.Join(rootNames(decoded(r.Requests())), ", "); !strings.Contains(got, "GET /inner") || !strings.Contains(got, "GET /gateway") {
		t.Errorf("the newest are %s, want both", got)
	}
}

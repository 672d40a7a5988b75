package perfline_test

import (
	"context"
	"net/http"
	"runtime/pprof"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// Whichever provider makes them, spans label their goroutines until Shutdown, and carry the ids of their profiles.
func TestStartLabelsGoroutines(t *testing.T) { overBoth(t, testStartLabelsGoroutines) }

func testStartLabelsGoroutines(t *testing.T, start starter) {
	t.Helper()
	server, _ := takesProfiles(t, http.StatusOK)
	pl, _, _ := start(t, perfline.Config{Service: "shop", Profiles: pyroscope.Config{ServerAddress: server}})
	span := labelledSpan(t, otel.GetTracerProvider().Tracer("t"), true)
	if ids := profileIDs(t, span); len(ids) != 1 || ids[0] != span.SpanContext().SpanID().String() {
		t.Errorf("the span carries the profile ids %q, want its own id once", ids)
	}
	for _, c := range pl.Counts() {
		if c.Group == "perfline.spans.unlabelled" && c.N != 0 {
			t.Errorf("%d spans lost their label", c.N)
		}
	}
	defer spanlabels.Hold(spanlabels.EverySpan)() // as another profiler
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if joined, ok := pl.TracerProvider().(*sdktrace.TracerProvider); ok {
		if ids := profileIDs(t, labelledSpan(t, joined.Tracer("t"), false)); len(ids) > 0 {
			t.Errorf("after Shutdown, a span carries the profile ids %q", ids)
		}
	}
}

// labelledSpan returns a span that has ended, and checks whether it labelled the goroutine.
func labelledSpan(t *testing.T, tracer trace.Tracer, want bool) trace.Span {
	t.Helper()
	ctx, span := tracer.Start(context.Background(), "span")
	if now := spanlabels.Innermost(); (now != nil) != want || want && now.SpanID() != span.SpanContext().SpanID() {
		t.Errorf("the span labels the goroutine: %t, want %t", now != nil, want)
	}
	if _, ok := pprof.Label(ctx, "span_id"); ok != want {
		t.Errorf("the context carries a label: %t, want %t", ok, want)
	}
	span.End()
	if now := spanlabels.Innermost(); now != nil {
		t.Errorf("after its end, the goroutine works for %q", now.Name())
	}
	return span
}

func profileIDs(t *testing.T, span trace.Span) (ids []string) {
	t.Helper()
	s, ok := span.(interface{ Attributes() []attribute.KeyValue })
	if !ok {
		t.Fatalf("a %T does not tell its attributes", span)
	}
	for _, kv := range s.Attributes() {
		if kv.Key == "pyroscope.profile.id" {
			ids = append(ids, kv.Value.AsString())
		}
	}
	return ids
}

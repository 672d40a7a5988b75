package perfline_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/marks"
)

// The program's provider keeps its sampler, its resource and its processors. Start adds the way to the backend, the
// requests in memory and the timeline, and Shutdown removes them again. The provider goes on.
func TestStartJoinsAProvider(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off") // for a provider that Start makes
	var requests tracepb.TracesData
	var bodies atomic.Int32
	sender := senderFunc(func(_ context.Context, body []byte) exporter.Answer {
		bodies.Add(1)
		if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(body, &requests); err != nil {
			t.Error(err)
		}
		return exporter.Answer{}
	})
	theirs := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.AlwaysSample()), sdktrace.WithSpanProcessor(theirs),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "the program's"))))
	pl, ctx, _ := start(t, perfline.Config{Service: "not this", TracerProvider: provider, Traces: exporter.Config{Sender: sender}})
	if pl.TracerProvider() != provider {
		t.Errorf("the pipeline has the provider %T", pl.TracerProvider())
	}
	ctx, span := otel.Tracer("t").Start(ctx, "root", trace.WithSpanKind(trace.SpanKindServer))
	marks.Mark(ctx, "mark")
	marks.Time(ctx, "measure").End()
	span.End()
	if err := pl.Flush(t.Context()); err != nil {
		t.Error(err)
	}
	if len(stored(pl).Requests()) != 1 || len(theirs.Ended()) != 2 {
		t.Errorf("%d requests are in memory, and the program's processor got %d spans, want 1 and 2", len(stored(pl).Requests()), len(theirs.Ended()))
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	sent := bodies.Load()
	_, late := provider.Tracer("t").Start(t.Context(), "late")
	if !late.IsRecording() {
		t.Error("the program's provider is shut down with the pipeline")
	}
	late.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if len(theirs.Ended()) != 3 || bodies.Load() != sent || pl.Stats().Delivery.Accepted != 2 {
		t.Errorf("after Shutdown, %d spans are with the program's processor, and the delivery has accepted %d", len(theirs.Ended()), pl.Stats().Delivery.Accepted)
	}
	events := map[string]int{}
	for _, r := range requests.GetResourceSpans() {
		if kv := r.GetResource().GetAttributes(); len(kv) == 0 || kv[0].GetValue().GetStringValue() != "the program's" {
			t.Errorf("sent with the resource %v", r.GetResource())
		}
		for _, scope := range r.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				events[s.GetName()] = len(s.GetEvents())
			}
		}
	}
	if n, ok := events["measure"]; !ok || n != 0 || events["root"] != 1 || len(events) != 2 {
		t.Errorf("sent spans with so many events: %v, want root with 1 and measure with 0", events)
	}
}

func TestStartJoinsNoWrongProvider(t *testing.T) {
	open, closed := sdktrace.NewTracerProvider(), sdktrace.NewTracerProvider()
	if err := closed.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config perfline.Config
		want   string
	}{
		"with a sampler": {perfline.Config{TracerProvider: open, Sampler: sdktrace.NeverSample()}, "field Sampler AlwaysOffSampler: must be nil when TracerProvider is set"},
		"shut down":      {perfline.Config{TracerProvider: closed}, "field TracerProvider: must not be shut down"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := perfline.Start(t.Context(), c.config); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Start returned %v, want %q", err, c.want)
			}
		})
	}
}

type senderFunc func(context.Context, []byte) exporter.Answer

func (f senderFunc) Send(ctx context.Context, body []byte) exporter.Answer { return f(ctx, body) }

// A program may shut its provider down before the pipeline. All that has ended is delivered then, and nothing is lost.
func TestJoinedProviderIsShutDownFirst(t *testing.T) {
	var spans atomic.Int32
	sender := senderFunc(func(_ context.Context, body []byte) exporter.Answer {
		var request tracepb.TracesData
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Error(err)
		}
		for _, r := range request.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				spans.Add(int32(len(s.GetSpans())))
			}
		}
		return exporter.Answer{}
	})
	provider := sdktrace.NewTracerProvider()
	pl, ctx, log := start(t, perfline.Config{TracerProvider: provider, Traces: exporter.Config{Sender: sender}})
	ctx, span := provider.Tracer("t").Start(ctx, "root")
	marks.Time(ctx, "measure").End()
	span.End()
	if err := provider.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if n := spans.Load(); n != 2 {
		t.Errorf("%d spans were sent, want 2", n)
	}
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", log)
	}
}

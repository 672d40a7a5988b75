package recipes_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/examples/recipes"
)

// A published message has a context and headers, as in a program with subscribers in memory.
type published struct {
	ctx     context.Context
	headers map[string]string
}

// Each subscriber in the process handles a message in a unit of its own, of the trace of the request that published the message,
// whatever context the subscriber has. A message without a trace is a unit with a trace of its own. A consumer's span below another
// span of the process is a part of the request of the other span.
func TestQueueInProcess(t *testing.T) {
	for _, sdk := range []bool{false, true} {
		t.Run(fmt.Sprintf("the SDK's provider %v", sdk), func(t *testing.T) {
			before, propagator := otel.GetTracerProvider(), otel.GetTextMapPropagator()
			defer func() {
				otel.SetTracerProvider(before)
				otel.SetTextMapPropagator(propagator)
			}()
			config := perfline.Config{Propagator: propagation.TraceContext{}}
			if sdk {
				config.TracerProvider = sdktrace.NewTracerProvider()
			}
			pl, err := perfline.Start(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			prices := recipes.Queue{System: "memory", Name: "prices"}
			messages := make(chan published, 1)
			mux := http.NewServeMux()
			mux.HandleFunc("POST /prices", func(_ http.ResponseWriter, r *http.Request) {
				headers := map[string]string{}
				if err := prices.Send(r.Context(), headers, func(context.Context) error {
					messages <- published{context.WithoutCancel(r.Context()), headers}
					return nil
				}); err != nil {
					t.Error(err)
				}
				_, span := otel.Tracer("t").Start(r.Context(), "inside", trace.WithSpanKind(trace.SpanKindConsumer))
				span.End()
			})
			bridgehttp.Middleware(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/prices", nil))
			m := <-messages
			for _, c := range []struct {
				ctx     context.Context
				headers map[string]string
			}{{t.Context(), m.headers}, {m.ctx, m.headers}, {m.ctx, nil}} {
				if err := prices.Handle(c.ctx, c.headers, func(context.Context) error { return nil }); err != nil {
					t.Error(err)
				}
			}
			if err := pl.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			var got []string
			publisher := trace.SpanContextFromContext(m.ctx).TraceID()
			for _, q := range pl.Recent().Newest() {
				got = append(got, fmt.Sprintf("%s %s, the publisher's trace %v", q.Root().Class, q.Root().Name, q.Root().TraceID == publisher))
			}
			slices.Sort(got)
			if want := []string{
				"request POST /prices, the publisher's trace true",
				"request process prices, the publisher's trace false",
				"request process prices, the publisher's trace true",
				"request process prices, the publisher's trace true",
			}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

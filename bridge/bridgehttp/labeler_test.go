package bridgehttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/observer"
)

type labelKey struct{}

// names labels with the span's name and has those that have not ended.
type names struct{ live []string }

func (*names) Enabled() bool { return true }

func (n *names) Begin(_ context.Context, _ trace.SpanContext, name string, _ bool) any {
	n.live = append(n.live, name)
	return name
}

func (n *names) End(label any, _ string) {
	n.live = slices.DeleteFunc(n.live, func(name string) bool { return name == label })
}

func (*names) Attributes(any) []attribute.KeyValue { return nil }

func (*names) Value(ctx context.Context, label, key any) any {
	if key == (labelKey{}) {
		return label
	}
	return ctx.Value(key)
}

// The goroutine of a request is labelled while it is served, for spans of other instrumentation
// too, and the handler's context carries the label.
func TestRequestsAreLabelled(t *testing.T) {
	tl := observer.NewTimeline(observer.TimelineOptions{})
	n := &names{}
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(
		bridge.NewProcessor(&recorder{}, bridge.WithTimeline(tl), bridge.WithLabeler(n))))
	defer func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	h := bridgehttp.Server{TracerProvider: tp, Timeline: tl}.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !slices.Equal(n.live, []string{"GET"}) || r.Context().Value(labelKey{}) != "GET" {
			t.Errorf("%q are labelled, the context carries %v", n.live, r.Context().Value(labelKey{}))
		}
		_, span := tp.Tracer("theirs").Start(r.Context(), "foreign")
		if !slices.Equal(n.live, []string{"GET", "foreign"}) {
			t.Errorf("under a span of other instrumentation, %q are labelled", n.live)
		}
		span.End()
		if n := len(observer.FromContext(r.Context()).EntriesByName("foreign")); n != 1 {
			t.Errorf("the foreign span is %d entries of the request's timeline", n)
		}
	}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody))
	if len(n.live) != 0 {
		t.Errorf("after the request, %q are labelled", n.live)
	}
}

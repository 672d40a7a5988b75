package bridgegrpc_test

import (
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// onEnd is a processor that calls itself with each span.
type onEnd func(sdktrace.ReadOnlySpan)

func (f onEnd) OnEnd(s sdktrace.ReadOnlySpan)                 { f(s) }
func (onEnd) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (onEnd) ForceFlush(context.Context) error                { return nil }
func (onEnd) Shutdown(context.Context) error                  { return nil }

// When the call's span ends, all there is to say of the call has been said.
func TestCallIsToldBeforeItsSpanEnds(t *testing.T) {
	r := newRig(t)
	var call *observer.Timeline
	ended := make(chan struct{}, 1)
	r.server.TracerProvider = bothproviders.New(t, r.tl, nil, onEnd(func(s sdktrace.ReadOnlySpan) {
		if s.SpanKind() != trace.SpanKindServer {
			return
		}
		r.tl.Deliver()
		r.mu.Lock()
		defer r.mu.Unlock()
		navigations := 0
		for _, e := range r.entries {
			if e.Type() == observer.Navigation {
				navigations++
				if (*record.Entry)(&e).Span().Self != record.ID(s.SpanContext().SpanID()) {
					t.Errorf("the entry is of span %x, want %v", (*record.Entry)(&e).Span().Self, s.SpanContext().SpanID())
				}
			}
		}
		if _, ok := (*record.Timeline)(call).Timing(record.ResponseEnd); !ok || navigations != 1 {
			t.Errorf("%d navigation entries, responseEnd is known: %v", navigations, ok)
		}
		if got := tags(s); got["rpc.response.status_code"] != "INTERNAL" || got["error.type"] != "INTERNAL" || events(s) != "[mark]" {
			t.Errorf("attributes %v, events %s", got, events(s))
		}
		ended <- struct{}{}
	}))
	r.shop.buy = func(ctx context.Context, _ *text) (*text, error) {
		call = observer.FromContext(ctx)
		marks.Mark(ctx, "mark")
		return nil, status.Error(grpccodes.Internal, "because")
	}
	r.start(t)
	if _, err := r.buy(r.ctx, "tea"); status.Code(err) != grpccodes.Internal {
		t.Fatal(err)
	}
	r.stop()
	if err := r.server.TracerProvider.(bothproviders.Provider).ForceFlush(t.Context()); err != nil {
		t.Error(err)
	}
	select {
	case <-ended:
	default:
		t.Error("the call's span has not ended")
	}
	if err := r.server.TracerProvider.(bothproviders.Provider).Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

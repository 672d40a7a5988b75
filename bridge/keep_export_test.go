package bridge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// Exported requests keep the flags that others saw, and lose the probability, so that a backend does not count them for others.
func TestKeepExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct{ state, want string }{
			{"", ""}, {"ot=th:c", ""}, {"ot=rv:abcdef01234567;th:c", "ot=rv:abcdef01234567"}, {"a=1,ot=th:0;rv:00000000000001,b=2", "ot=rv:00000000000001,a=1,b=2"}, {"vendor=th:c", "vendor=th:c"},
		} {
			state := traceState(t, c.state)
			drop := fixed{Decision: sdktrace.Drop, Tracestate: state}
			r := newKeepRig(t, bridge.KeepPolicy{Export: true}, drop)
			var sent string
			r.serve("GET /", time.Second, func(ctx context.Context, s trace.Span) {
				sent = s.SpanContext().TraceState().String()
				marks.Time(ctx, "render").End()
				_, child := r.tracer.Start(ctx, "child")
				child.End()
			})
			if sent != c.state {
				t.Errorf("the trace state is %q within the process, want %q", sent, c.state)
			}
			if got, want := r.exported.names(), "GET / child render"; got != want {
				t.Fatalf("exported %q, want %q", got, want)
			}
			for _, s := range r.exported.all() {
				if s.TraceState != c.want || s.TraceFlags.IsSampled() {
					t.Errorf("%s has the trace state %q and the flags %v, want %q and not sampled", s.Name, s.TraceState, s.TraceFlags, c.want)
				}
			}
			if n := r.provider.RequestCounts(); n["exported"] != 1 || n["slow"] != 1 {
				t.Errorf("%v, want 1 slow and exported", n)
			}
		}
	})
}

// A process that did not begin the trace has not decided about it.
func TestKeepExportsOwnTracesOnly(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Export: true, Share: 1}, nil)
	r.ctx = trace.ContextWithRemoteSpanContext(r.ctx, spanContext(false, true))
	r.serve("GET /", 0, nil)
	if r.recorded.names() != "GET /" || r.exported.names() != "" {
		t.Errorf("recorded %q, exported %q; want it in memory only", r.recorded.names(), r.exported.names())
	}
}

// A span of the program above all requests, such as one in the server's BaseContext, does not hide where the trace began.
func TestKeepExportUnderASpan(t *testing.T) {
	for name, c := range map[string]struct {
		parent trace.SpanContext // of the program's span
		want   string            // what is exported
	}{
		"a trace of this process":    {trace.SpanContext{}, "GET /"},
		"a trace of another process": {spanContext(false, true), ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newKeepRig(t, bridge.KeepPolicy{Export: true, Share: 1}, nil)
			ctx, program := r.tracer.Start(trace.ContextWithRemoteSpanContext(r.ctx, c.parent), "program")
			r.ctx = ctx
			r.serve("GET /", 0, nil)
			if r.recorded.names() != "GET /" || r.exported.names() != c.want {
				t.Errorf("recorded %q, exported %q; want %q exported", r.recorded.names(), r.exported.names(), c.want)
			}
			program.End()
		})
	}
}

// A provider without exporters exports nothing.
func TestKeepExportNeedsExporters(t *testing.T) {
	recorded := &keptSpans{}
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: sdktrace.NeverSample(), Recorders: []bridge.Output{recorded},
		Keep: &bridge.KeepPolicy{Slow: neverSlow, Export: true, Share: 1},
	})
	defer func() { _ = p.Shutdown(t.Context()) }()
	_, span := p.Tracer("test").Start(t.Context(), "GET /", trace.WithSpanKind(trace.SpanKindServer))
	span.End()
	if n := p.RequestCounts(); n["share"] != 1 || n["exported"] != 0 || recorded.names() != "GET /" {
		t.Errorf("%v, recorded %q; want a request that is kept and not exported", n, recorded.names())
	}
}

// A request without anything under it is exported, too, with the spans that begin after its end.
func TestKeepExportWithoutChildren(t *testing.T) {
	r := newKeepRig(t, bridge.KeepPolicy{Slow: neverSlow, Share: 1, Export: true}, nil)
	var late context.Context
	r.serve("GET /", 0, func(ctx context.Context, _ trace.Span) { late = ctx })
	_, span := r.tracer.Start(late, "late")
	span.End()
	if got, want := r.exported.names(), "GET / late"; got != want {
		t.Errorf("exported %q, want %q", got, want)
	}
	if n := r.provider.RequestCounts()["exported"]; n != 1 {
		t.Errorf("%d requests count as exported, want 1", n)
	}
}

//go:build !perfline_portable

package spanlabels_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"slices"
	"testing"

	pprofpb "github.com/google/pprof/profile"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// labelsNow are the labels of the calling goroutine, as profiles have them.
func labelsNow(t *testing.T) map[string]string {
	t.Helper()
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 0); err != nil {
		t.Fatal(err)
	}
	p, err := pprofpb.Parse(&buf)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, s := range p.Sample {
		if slices.ContainsFunc(s.Location, func(loc *pprofpb.Location) bool {
			return loc.Line[0].Function.Name == "github.com/perfline/perfline/internal/spanlabels_test.labelsNow"
		}) {
			for k, v := range s.Label {
				all[k] = v[0]
			}
		}
	}
	return all
}

// wantLabels compares the goroutine's labels with a span's, "" for none, and others.
func wantLabels(t *testing.T, what string, span trace.SpanContext, name string, others ...string) {
	t.Helper()
	want := map[string]string{}
	if span.IsValid() {
		want = map[string]string{"span_id": span.SpanID().String(), "span_name": name, "trace_id": span.TraceID().String()}
	}
	for i := 0; i < len(others); i += 2 {
		want[others[i]] = others[i+1]
	}
	got := labelsNow(t)
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s the label %s is %q, want %q", what, k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s the labels are %v, want %v", what, got, want)
	}
}

// setUp returns a provider that labels, the SDK's provider in it, and a context with a timeline.
func setUp(t *testing.T, opts ...sdktrace.TracerProviderOption) (*spanlabels.TracerProvider, *sdktrace.TracerProvider, context.Context) {
	t.Helper()
	tl := observer.NewTimeline(observer.TimelineOptions{})
	sdk := sdktrace.NewTracerProvider(append(opts, sdktrace.WithSyncer(tracetest.NewInMemoryExporter()),
		sdktrace.WithSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl})))...)
	tp := spanlabels.WrapTracerProvider(sdk)
	t.Cleanup(func() {
		if err := sdk.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tp, sdk, observer.NewContext(context.Background(), tl)
}

// pprof.Do under a span of any instrumentation keeps the span, if the provider's
// contexts carry labels.
func TestPprofDoUnderASpan(t *testing.T) {
	tp, _, base := setUp(t)
	defer spanlabels.Hold(spanlabels.EverySpan)()
	of := trace.SpanContextFromContext
	pprof.Do(base, pprof.Labels("app", "shop"), func(base context.Context) {
		tracer := tp.Tracer("t")
		outerCtx, outer := tracer.Start(base, "outer")
		ctx, inner := tracer.Start(outerCtx, "inner")
		pprof.Do(ctx, pprof.Labels("step", "pay"), func(ctx context.Context) {
			wantLabels(t, "in Do", of(ctx), "inner", "app", "shop", "step", "pay")
			deeper, deepest := tracer.Start(ctx, "deepest")
			pprof.Do(deeper, pprof.Labels("step", "pack"), func(ctx context.Context) {
				wantLabels(t, "in Do in Do", of(ctx), "deepest", "app", "shop", "step", "pack")
			})
			deepest.End()
			wantLabels(t, "after the span in Do", of(ctx), "inner", "app", "shop", "step", "pay")
		})
		wantLabels(t, "after Do", of(ctx), "inner", "app", "shop")
		inner.End()
		wantLabels(t, "after the inner span", of(outerCtx), "outer", "app", "shop")

		outer.End()
		wantLabels(t, "after all spans", trace.SpanContext{}, "", "app", "shop")
	})
}

// All kinds of spans in each other, with labels of the program's around, between and
// inside.
func TestSpanLabels(t *testing.T) {
	_, tp, base := setUp(t) // contexts of its spans carry no labels by themselves
	defer spanlabels.Hold(spanlabels.EverySpan)()
	tracer := tp.Tracer("t")
	of := trace.SpanContextFromContext
	h := bridgehttp.Server{TracerProvider: tp, Timeline: observer.FromContext(base)}.Middleware(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			request := of(ctx)
			wantLabels(t, "in the handler", request, "GET", "app", "shop")
			pprof.Do(ctx, pprof.Labels("step", "pay"), func(ctx context.Context) {
				wantLabels(t, "in Do", request, "GET", "app", "shop", "step", "pay")
				ctx, span := tracer.Start(ctx, "query")
				wantLabels(t, "in a span in Do", of(ctx), "query", "app", "shop", "step", "pay")
				span.End()
				wantLabels(t, "after a span in Do", request, "GET", "app", "shop", "step", "pay")
			})
			wantLabels(t, "after Do", request, "GET", "app", "shop")
			sctx, span := tracer.Start(ctx, "foreign")
			mctx, timing := marks.Start(sctx, "measure")
			wantLabels(t, "in a measure", of(mctx), "measure", "app", "shop")
			pprof.Do(mctx, pprof.Labels("step", "pack"), func(context.Context) {
				wantLabels(t, "in Do in a measure", of(mctx), "measure", "app", "shop", "step", "pack")
			})
			done := make(chan struct{})
			go func() {
				defer close(done)
				wantLabels(t, "on a goroutine started", of(mctx), "measure", "app", "shop")
			}()
			<-done
			timing.End()
			wantLabels(t, "after a measure", of(sctx), "foreign", "app", "shop")
			pprof.Do(sctx, pprof.Labels("step", "send"), func(context.Context) {
				wantLabels(t, "in Do in a span", of(sctx), "foreign", "app", "shop", "step", "send")
			})
			wantLabels(t, "after Do in a span", of(sctx), "foreign", "app", "shop")
			span.End()
			wantLabels(t, "after all", request, "GET", "app", "shop")
		}))
	pprof.Do(base, pprof.Labels("app", "shop"), func(ctx context.Context) {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody).WithContext(ctx))
		wantLabels(t, "after the request", trace.SpanContext{}, "", "app", "shop")
		rctx, root := marks.Start(ctx, "root")
		wantLabels(t, "in a root measure", of(rctx), "root", "app", "shop")
		root.End()
		wantLabels(t, "after a root measure", trace.SpanContext{}, "", "app", "shop")
	})
	wantLabels(t, "in the end", trace.SpanContext{}, "")
}

func TestDo(t *testing.T) {
	tp, _, base := setUp(t)
	called := 0
	spanlabels.Do(base, func(context.Context) { called++ })
	defer spanlabels.Hold(spanlabels.EverySpan)()
	spanlabels.Do(base, func(context.Context) { called++; wantLabels(t, "without a span", trace.SpanContext{}, "") })
	remote := trace.ContextWithRemoteSpanContext(base, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true}))
	spanlabels.Do(remote, func(context.Context) { called++; wantLabels(t, "with a remote span", trace.SpanContext{}, "") })
	if called != 3 {
		t.Errorf("without a span it was called %d times, want 3", called)
	}

	type job struct {
		ctx  context.Context
		name string
	}
	jobs, done := make(chan job), make(chan struct{})
	go func() { // one of a pool of workers
		defer close(done)
		pprof.SetGoroutineLabels(pprof.WithLabels(base, pprof.Labels("pool", "1")))
		for j := range jobs {
			span := trace.SpanContextFromContext(j.ctx)
			spanlabels.Do(j.ctx, func(ctx context.Context) {
				wantLabels(t, "in Do", span, j.name, "pool", "1")
				pprof.Do(ctx, pprof.Labels("k", "v"), func(context.Context) {
					wantLabels(t, "in pprof.Do in Do", span, j.name, "pool", "1", "k", "v")
				})
				wantLabels(t, "after pprof.Do in Do", span, j.name, "pool", "1")
			})
			wantLabels(t, "after Do", trace.SpanContext{}, "", "pool", "1")
			func() {
				defer func() { _ = recover() }()
				spanlabels.Do(j.ctx, func(context.Context) { panic("in a job") })
			}()
			wantLabels(t, "after a panic in Do", trace.SpanContext{}, "", "pool", "1")
		}
	}()
	ctx, span := tp.Tracer("t").Start(base, "span")
	jobs <- job{ctx, "span"}
	mctx, timing := marks.Start(ctx, "measure")
	jobs <- job{mctx, "measure"}
	jobs <- job{ctx, "span"} // it is not the goroutine's innermost
	timing.End()
	span.End()
	close(jobs)
	<-done
}

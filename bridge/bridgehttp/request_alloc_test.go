//go:build !race

// The race detector allocates on its own account.

package bridgehttp_test

import (
	"context"
	"net/http"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"go.opentelemetry.io/otel/propagation"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A quietWriter allocates nothing.
type quietWriter struct{ http1Fake }

func (quietWriter) WriteHeader(int)             {}
func (quietWriter) Write(b []byte) (int, error) { return len(b), nil }

// What a whole request pays: its context and timeline, its span, its header.
// The ceilings are what was measured, most of it the SDK's span.
func TestRequestAllocs(t *testing.T) {
	for _, c := range []struct {
		name    string
		sampler sdktrace.Sampler
		timing  bridgehttp.ServerTiming
		marks   bool
		most    float64
	}{
		{"sampled", sdktrace.AlwaysSample(), bridgehttp.ServerTiming{}, false, 18},
		{"sampled, a mark and a measure", sdktrace.AlwaysSample(), bridgehttp.ServerTiming{}, true, 19},
		{"sampled, a measure told", sdktrace.AlwaysSample(), bridgehttp.ServerTiming{Names: []string{"m*"}}, true, 24},
		{"not sampled", sdktrace.NeverSample(), bridgehttp.ServerTiming{}, false, 10},
		{"not sampled, no Server-Timing", sdktrace.NeverSample(), bridgehttp.ServerTiming{NoTrace: true, NoTraceparent: true}, true, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := observer.NewTimeline(observer.TimelineOptions{Scheduler: func(func()) {}, MaxPending: 1 << 18})
			proc := bridge.NewProcessor(&recorder{}, bridge.WithTimeline(tl))
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(proc), sdktrace.WithSampler(c.sampler))
			defer func() {
				if err := tp.Shutdown(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
			mux := http.NewServeMux()
			body := []byte("hello")
			mux.HandleFunc("GET /x/{id}", func(w http.ResponseWriter, r *http.Request) {
				if c.marks {
					marks.Mark(r.Context(), "mark")
					marks.Time(r.Context(), "measure").End()
				}
				_, _ = w.Write(body)
			})
			bare, wrapped := http.Handler(mux), bridgehttp.Server{TracerProvider: tp, MeterProvider: meters, Propagators: propagation.TraceContext{}, Timeline: tl, ServerTiming: c.timing}.Middleware(mux)
			w := quietWriter{newHTTP1(newPlainWriter())}
			req := newRequest(t, http.MethodGet, "http://shop.example:8080/x/7", nil)
			req.RemoteAddr = "192.0.2.1:1234"
			run := func(h http.Handler) func() {
				return func() {
					clear(w.header)
					h.ServeHTTP(w, req)
				}
			}
			run(wrapped)()
			got := testing.AllocsPerRun(1000, run(wrapped)) - testing.AllocsPerRun(1000, run(bare))
			if got > c.most {
				t.Errorf("%v allocations, want at most %v", got, c.most)
			}
		})
	}
}

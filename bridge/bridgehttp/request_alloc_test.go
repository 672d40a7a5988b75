//go:build !race

// The race detector allocates on its own account.

package bridgehttp_test

import (
	"bytes"
	"net/http"
	"testing"

	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// An exchange is a request that is served again and again, by a handler and by the same handler in the middleware.
type exchange struct{ bare, wrapped func() }

// newExchange returns an exchange whose handler is a mux. Its handler records a mark and a measure if marked.
func newExchange(tb testing.TB, tp trace.TracerProvider, tl *observer.Timeline, timing bridgehttp.ServerTiming, marked bool) exchange {
	tb.Helper()
	mux := http.NewServeMux()
	body := []byte("hello")
	mux.HandleFunc("GET /x/{id}", func(w http.ResponseWriter, r *http.Request) {
		if marked {
			marks.Mark(r.Context(), "mark")
			marks.Time(r.Context(), "measure").End()
		}
		_, _ = w.Write(body)
	})
	wrapped := bridgehttp.Server{
		TracerProvider: tp, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
		Propagators: propagation.TraceContext{}, Timeline: tl, ServerTiming: timing,
	}.Middleware(mux)
	w := quietWriter{newHTTP1(newPlainWriter())}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://shop.example:8080/x/7", http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	req.RemoteAddr = "192.0.2.1:1234"
	serve := func(h http.Handler) func() {
		return func() {
			clear(w.header)
			h.ServeHTTP(w, req)
		}
	}
	return exchange{serve(mux), serve(wrapped)}
}

// A whole request pays for these: its context and timeline, its span, its header. The ceilings are what was measured.
func TestRequestAllocs(t *testing.T) {
	always, never := sdktrace.ParentBased(sdktrace.AlwaysSample()), sdktrace.ParentBased(sdktrace.NeverSample())
	withMeasures := bridgehttp.ServerTiming{Names: []string{"m*"}}
	withTrace := bridgehttp.ServerTiming{Trace: true}
	for _, c := range []struct {
		name     string
		sampler  sdktrace.Sampler
		timing   bridgehttp.ServerTiming
		marks    bool
		own, sdk float64 // at most
	}{
		{"sampled", always, bridgehttp.ServerTiming{}, false, 5, 15},
		{"sampled, a mark and a measure", always, bridgehttp.ServerTiming{}, true, 5, 27},
		{"sampled, a measure told", always, withMeasures, true, 10, 32},
		{"sampled, its trace told", always, withTrace, true, 6, 28},
		{"not sampled", never, bridgehttp.ServerTiming{}, false, 3, 9},
		{"not sampled, its trace told", never, withTrace, true, 4, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, p := range []struct {
				name string
				of   func(*observer.Timeline) trace.TracerProvider
				most float64
			}{
				{"perfline's", func(tl *observer.Timeline) trace.TracerProvider { return ownProvider(t, tl, c.sampler) }, c.own},
				{"the SDK's", func(tl *observer.Timeline) trace.TracerProvider { return sdkProvider(t, tl, c.sampler) }, c.sdk},
			} {
				tl := quietTimeline()
				tp := p.of(tl)
				x := newExchange(t, tp, tl, c.timing, c.marks)
				x.wrapped()
				got := testing.AllocsPerRun(1000, bothproviders.HandedOver(tp, x.wrapped)) - testing.AllocsPerRun(1000, x.bare)
				if got > p.most {
					t.Errorf("%v allocations over %s provider, want at most %v", got, p.name, p.most)
				}
			}
		})
	}
}

// A server of net/http allocates no more for a request than the middleware does: nobody asks for the response's header.
func TestServedRequestAllocs(t *testing.T) {
	for _, c := range []struct {
		name    string
		sampler sdktrace.Sampler
		timing  bridgehttp.ServerTiming
		most    float64
	}{
		{"sampled", sdktrace.AlwaysSample(), bridgehttp.ServerTiming{}, 5},
		{"sampled, its trace told", sdktrace.AlwaysSample(), bridgehttp.ServerTiming{Trace: true}, 10},
		{"not sampled", sdktrace.NeverSample(), bridgehttp.ServerTiming{}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				marks.Mark(r.Context(), "mark")
				marks.Time(r.Context(), "measure").End()
				_, _ = w.Write([]byte("hello"))
			})
			tl := quietTimeline()
			wrapped := bridgehttp.Server{
				TracerProvider: ownProvider(t, tl, c.sampler), MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())),
				Propagators: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}), Timeline: tl, ServerTiming: c.timing,
			}.Middleware(h)
			if got := testing.AllocsPerRun(1000, served(t, wrapped)) - testing.AllocsPerRun(1000, served(t, h)); got > c.most {
				t.Errorf("%v allocations, want at most %v", got, c.most)
			}
		})
	}
}

// served returns a function that sends a request to a server with this handler, and reads the response, which ends in "hello".
func served(t *testing.T, h http.Handler) func() {
	t.Helper()
	var network memnet.Network
	server, listener := &http.Server{Handler: h}, network.Listen() //nolint:gosec // no stranger calls it
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	conn, err := network.Dial(t.Context(), "tcp", memnet.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	request := []byte("GET /x/7 HTTP/1.1\r\nHost: shop.example\r\nUser-Agent: test\r\n\r\n")
	response, end := make([]byte, 4<<10), []byte("hello")
	return func() {
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		for n := 0; !bytes.HasSuffix(response[:n], end); {
			more, err := conn.Read(response[n:])
			if err != nil {
				t.Fatal(err)
			}
			n += more
		}
	}
}

// A call allocates its span, a copy of the request, and the times of its phases. The ceiling was measured.
func TestCallAllocs(t *testing.T) {
	tl := quietTimeline()
	base := roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody}, nil
	})
	p := ownProvider(t, tl, sdktrace.AlwaysSample())
	transport := bridgehttp.Client{
		TracerProvider: p, Propagators: propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
	}.Transport(base)
	ctx, span := p.Tracer("").Start(t.Context(), "root")
	defer span.End()
	req := newRequest(t, http.MethodGet, "http://x/", nil).WithContext(ctx)
	call := func(via http.RoundTripper) func() {
		return func() {
			resp, err := via.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
	}
	if got := testing.AllocsPerRun(1000, call(transport)) - testing.AllocsPerRun(1000, call(base)); got > 34 {
		t.Errorf("%v allocations, want at most 34", got)
	}
}

// BenchmarkRequest is a request with a mark and a measure, served by a handler alone and in the middleware.
func BenchmarkRequest(b *testing.B) {
	tl := quietTimeline()
	x := newExchange(b, ownProvider(b, tl, nil), tl, bridgehttp.ServerTiming{}, true)
	for name, serve := range map[string]func(){"plain": x.bare, "middleware": x.wrapped} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}

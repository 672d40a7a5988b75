package peers_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/observer"
)

// The check of the set-up knows which of two instrumentations beside each other make everything twice.
func TestCheckOfInstrumentations(t *testing.T) {
	const (
		ours   = "github.com/perfline/perfline"
		theirs = "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	)
	for _, c := range []struct {
		name string
		wrap func(our, their func(http.Handler) http.Handler, h http.Handler) http.Handler
		call func(our, their func(http.RoundTripper) http.RoundTripper) http.RoundTripper
		want string // the scopes of the two spans; empty if there is no fault
	}{
		{"otelhttp outside", func(our, their func(http.Handler) http.Handler, h http.Handler) http.Handler { return their(our(h)) }, nil, ""},
		{"otelhttp inside", func(our, their func(http.Handler) http.Handler, h http.Handler) http.Handler { return our(their(h)) }, nil,
			"of server spans for the same thing: one of " + ours + ", and below it one of " + theirs + "."},
		{"otelhttp alone", func(_, their func(http.Handler) http.Handler, h http.Handler) http.Handler { return their(h) }, nil, ""},
		{"twice ours", func(our, _ func(http.Handler) http.Handler, h http.Handler) http.Handler { return our(our(h)) }, nil, ""},
		{"both transports", nil, func(our, their func(http.RoundTripper) http.RoundTripper) http.RoundTripper {
			return their(our(http.DefaultTransport))
		}, "of client spans for the same thing: one of " + theirs + ", and below it one of " + ours + "."},
		{"one transport", nil, func(our, _ func(http.RoundTripper) http.RoundTripper) http.RoundTripper {
			return our(http.DefaultTransport)
		}, ""},
	} {
		for _, sdk := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/SDK=%t", c.name, sdk), func(t *testing.T) {
				tl := observer.NewTimeline(observer.TimelineOptions{})
				pc := perfline.Config{Service: "test", Timeline: tl, Logger: slog.New(slog.DiscardHandler)}
				if sdk {
					pc.TracerProvider = sdktrace.NewTracerProvider()
					t.Cleanup(func() { _ = pc.TracerProvider.Shutdown(context.Background()) })
				}
				pl, err := perfline.Start(t.Context(), pc)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					_ = pl.Shutdown(context.Background()) // losses are not what is tested
					tl.Close()
				})
				our := func(h http.Handler) http.Handler {
					return bridgehttp.Server{Timeline: tl, TracerProvider: pl.TracerProvider()}.Middleware(h)
				}
				their := func(h http.Handler) http.Handler {
					return otelhttp.NewHandler(h, "", otelhttp.WithTracerProvider(pl.TracerProvider()))
				}
				transport := http.DefaultTransport
				if c.call != nil {
					transport = c.call(func(rt http.RoundTripper) http.RoundTripper {
						return bridgehttp.Client{TracerProvider: pl.TracerProvider()}.Transport(rt)
					}, func(rt http.RoundTripper) http.RoundTripper {
						return otelhttp.NewTransport(rt, otelhttp.WithTracerProvider(pl.TracerProvider()))
					})
				}
				other := httptest.NewServer(http.NotFoundHandler())
				defer other.Close()
				mux := http.NewServeMux()
				mux.HandleFunc("GET /items/{id}", func(_ http.ResponseWriter, r *http.Request) {
					if c.call == nil {
						return
					}
					called, err := http.NewRequestWithContext(r.Context(), http.MethodGet, other.URL, http.NoBody)
					if err != nil {
						t.Error(err)
						return
					}
					response, err := transport.RoundTrip(called)
					if err != nil {
						t.Error(err)
						return
					}
					_ = response.Body.Close()
				})
				h := our(mux)
				if c.wrap != nil {
					h = c.wrap(our, their, mux)
				}
				for i := range 25 {
					h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/items/%d", i), http.NoBody))
				}
				var found []string
				for _, f := range perfline.Check(pl) {
					found = append(found, f.What)
				}
				if c.want == "" && len(found) > 0 || c.want != "" && (!slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, c.want) })) {
					t.Errorf("it found %q, want %q", found, c.want)
				}
			})
		}
	}
}

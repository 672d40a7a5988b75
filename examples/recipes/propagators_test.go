package recipes_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/examples/recipes"
)

// Traces come in by each format, and go out by both.
func TestTraceFormats(t *testing.T) {
	const trace, other = "0102030405060708090a0b0c0d0e0f10", "ffffffffffffffffffffffffffffffff"
	for name, header := range map[string]map[string]string{
		"W3C":              {"Traceparent": "00-" + trace + "-0102030405060708-01"},
		"B3":               {"B3": trace + "-0102030405060708-1"},
		"B3 in parts":      {"X-B3-Traceid": trace, "X-B3-Spanid": "0102030405060708", "X-B3-Sampled": "1"},
		"both, W3C counts": {"Traceparent": "00-" + trace + "-0102030405060708-01", "B3": other + "-0102030405060708-1"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := bridgetest.New(t)
			var sent http.Header
			backend := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sent = r.Header }))
			defer backend.Close()
			transport := bridgehttp.Client{TracerProvider: rec.TracerProvider(), Propagators: recipes.TraceFormats()}.Transport(nil)
			server := bridgehttp.Server{TracerProvider: rec.TracerProvider(), Timeline: rec.Timeline(), Propagators: recipes.TraceFormats()}
			h := server.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, backend.URL, nil)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := transport.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				_ = resp.Body.Close()
			}))
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			for key, value := range header {
				r.Header.Set(key, value)
			}
			h.ServeHTTP(httptest.NewRecorder(), r)
			if !strings.HasPrefix(sent.Get("Traceparent"), "00-"+trace) || !strings.HasPrefix(sent.Get("B3"), trace) || sent.Get("X-B3-Traceid") != trace {
				t.Errorf("the call has %v, want the trace %s in all formats", sent, trace)
			}
		})
	}
}

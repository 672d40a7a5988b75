package bridgehttp_test

import (
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/perfline/perfline/observer"
)

// Thousands of spans and entries wait while a backend is away. The text of a request that
// they hold is bounded, and holds no longer text in memory.
func TestRequestsOfAnyLengthCostLittle(t *testing.T) {
	const (
		requests = 16
		length   = 500 << 10 // servers take headers of a megabyte
		most     = 40 << 10  // bytes kept of each request
		parent   = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"
	)
	long := strings.Repeat("x", length)
	for _, c := range []struct {
		name   string
		change func(*http.Request)
	}{
		{"path", func(r *http.Request) { r.URL.Path = "/" + long }},
		{"query", func(r *http.Request) { r.URL.RawQuery = long }},
		{"method and query", func(r *http.Request) { r.Method, r.URL.RawQuery = "STEAL", long }},
		{"method", func(r *http.Request) { r.Method = long }},
		{"host", func(r *http.Request) { r.Host = long }},
		{"host and port", func(r *http.Request) { r.Host = "h:" + long }},
		{"user agent", func(r *http.Request) { r.Header.Set("User-Agent", long) }},
		{"forwarded for", func(r *http.Request) { r.Header.Set("X-Forwarded-For", long) }},
		{"forwarded for many", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7, "+long) }},
		{"trace state", func(r *http.Request) {
			r.Header.Set("Traceparent", parent)
			r.Header.Set("Tracestate", "a=b,"+strings.Repeat(",", length)+"c=d")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withProcessor(t)
			var entries []observer.Entry
			obs, err := r.tl.Observe(func(l observer.List) { entries = append(entries, l.Entries()...) },
				observer.Options{Types: []observer.Type{observer.Navigation}})
			if err != nil {
				t.Fatal(err)
			}
			before := inUse()
			func() {
				server := httptest.NewServer(r.wrap(http.NotFoundHandler()))
				defer server.Close()
				for range requests {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/x", http.NoBody)
					if err != nil {
						t.Fatal(err)
					}
					c.change(req)
					resp, err := server.Client().Do(req)
					if err != nil {
						t.Fatal(err)
					}
					resp.Body.Close()
				}
				server.Client().CloseIdleConnections()
			}()
			r.flush(t)
			r.tl.Deliver()
			obs.Disconnect()
			if n := len(r.got.all()); n != requests || len(entries) != requests {
				t.Fatalf("%d spans and %d entries, want %d", n, len(entries), requests)
			}
			if each := (inUse() - before) / requests; each > most {
				t.Errorf("a request costs %d bytes as long as its span and its entry are kept, want %d at most", each, most)
			}
			runtime.KeepAlive(entries)
		})
	}
}

// inUse is how many bytes of memory are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // what pools let go of
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

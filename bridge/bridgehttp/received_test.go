package bridgehttp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/observer"
)

// Thousands of spans and entries wait while a backend is away. The text of a request that
// they hold is bounded, and holds no longer text in memory.
func TestRequestsOfAnyLengthCostLittle(t *testing.T) {
	const (
		requests = 2
		length   = 200 << 10
		most     = 40 << 10 // bytes kept of each request
	)
	for name, change := range longRequests(length) {
		t.Run(name, func(t *testing.T) {
			r := withProcessor(t)
			var texts garbage.Objects
			entries := serveLong(t, r, requests, func(req *http.Request) { watchLong(&texts, req, length) }, change)
			texts.Wait(t)
			size := 0
			for _, s := range r.got.all() {
				size += len(s.Name()) + len(text(s.Attributes())) + len(s.SpanContext().TraceState().String())
			}
			for i := range entries {
				size += len(entries[i].Name()) + len(fmt.Sprint(entries[i].Detail()))
			}
			if each := size / requests; each > most || each < 100 {
				t.Errorf("a request has %d bytes in its span and its entry, want some, and %d at most", each, most)
			}
			runtime.KeepAlive(r)
		})
	}
}

// longRequests are ways to make a request long.
func longRequests(length int) map[string]func(*http.Request) {
	const parent = "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"
	long := strings.Repeat("x", length)
	return map[string]func(*http.Request){
		"path":               func(r *http.Request) { r.URL.Path = "/" + long },
		"query":              func(r *http.Request) { r.URL.RawQuery = long },
		"method and query":   func(r *http.Request) { r.Method, r.URL.RawQuery = "STEAL", long },
		"method":             func(r *http.Request) { r.Method = long },
		"host":               func(r *http.Request) { r.Host = long },
		"host and port":      func(r *http.Request) { r.Host = "h:" + long },
		"user agent":         func(r *http.Request) { r.Header.Set("User-Agent", long) },
		"forwarded for":      func(r *http.Request) { r.Header.Set("X-Forwarded-For", long) },
		"forwarded for many": func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.7, "+long) },
		"forwarded":          func(r *http.Request) { r.Header.Set("Forwarded", "for=192.0.2.7;by="+long) },
		"forwarded many":     func(r *http.Request) { r.Header.Set("Forwarded", "for=192.0.2.7;host=shop.example, by="+long) },
		"forwarded host":     func(r *http.Request) { r.Header.Set("X-Forwarded-Host", long) },
		"forwarded host many": func(r *http.Request) {
			r.Header["X-Forwarded-Host"] = []string{"", "shop.example, " + long}
		},
		"forwarded scheme many": func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https, "+long) },
		"trace state": func(r *http.Request) {
			r.Header.Set("Traceparent", parent)
			r.Header.Set("Tracestate", "a=b,"+strings.Repeat(",", length)+"c=d")
		},
	}
}

// serveLong serves requests that change makes long. It returns their entries. Their spans are r's. seen sees each request
// as the server has it.
func serveLong(t *testing.T, r *rig, requests int, seen, change func(*http.Request)) (entries []observer.Entry) {
	t.Helper()
	obs, err := r.tl.Observe(func(l observer.List) { entries = append(entries, l.Entries()...) },
		observer.Options{Types: []observer.Type{observer.Navigation}})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		h := r.wrap(http.NotFoundHandler())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			seen(req)
			h.ServeHTTP(w, req)
		}))
		defer server.Close()
		for range requests {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/x", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			change(req)
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
	return entries
}

// watchLong watches the texts of a request that have a length or more.
func watchLong(texts *garbage.Objects, r *http.Request, length int) {
	watched := 0
	watch := func(name, text string) {
		if len(text) >= length {
			garbage.WatchText(texts, name, text)
			watched++
		}
	}
	watch("path", r.URL.Path)
	watch("query", r.URL.RawQuery)
	watch("method", r.Method)
	watch("host", r.Host)
	watch("request's URI", r.RequestURI)
	for name, values := range r.Header {
		for _, v := range values {
			watch(name, v)
		}
	}
	if watched == 0 {
		panic("the request has no long text")
	}
}

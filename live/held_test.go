package live_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	otelattribute "go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
)

// aQuiet is a quiet program with its page. Each call of request makes a request with a name and attributes, and
// returns the page's path to it.
func aQuiet(t *testing.T, c requests.Config) (p *program, request func(name string, attrs ...otelattribute.KeyValue) string) {
	t.Helper()
	recent := requests.NewRecent(c)
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recent)).Tracer("t")
	return &program{t: t, page: live.Handler(quiet{recent: recent}, live.Config{})}, func(name string, attrs ...otelattribute.KeyValue) string {
		_, s := tracer.Start(t.Context(), name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...))
		s.End()
		return fmt.Sprintf("data/v1/requests/%v/%v", s.SpanContext().TraceID(), s.SpanContext().SpanID())
	}
}

// found reports whether the page has a request, and does not open it.
func (p *program) found(path string) bool {
	return p.do(ask(http.MethodHead, path, "")).Code == http.StatusOK
}

// The requests that were listed last can be seen when others have taken their places in memory.
func TestListedRequestsAreBounded(t *testing.T) {
	p, request := aQuiet(t, requests.Config{Requests: 1, Slowest: -1, Examples: -1})
	const most = 256
	var paths []string
	for range most + 2 {
		paths = append(paths, request("a"))
		p.overview()
	}
	request("the one in memory")
	for i, path := range paths {
		if got, want := p.found(path), i >= 2; got != want {
			t.Errorf("request %d of %d is there: %v, want %v", i, len(paths), got, want)
		}
	}
}

// The requests that were opened last can be seen, too. A request that is opened again is the last one.
func TestOpenedRequestsAreBounded(t *testing.T) {
	p, request := aQuiet(t, requests.Config{Requests: 1, Slowest: -1, Examples: -1})
	const most = 64
	var paths []string
	open := func(path string) { p.get(path, http.StatusOK, nil) }
	for range most {
		paths = append(paths, request("a"))
		open(paths[len(paths)-1])
	}
	open(paths[0])
	for range 2 {
		paths = append(paths, request("a"))
		open(paths[len(paths)-1])
	}
	request("the one in memory")
	for i, path := range paths {
		if got, want := p.found(path), i == 0 || i >= 3; got != want {
			t.Errorf("request %d of %d is there: %v, want %v", i, len(paths), got, want)
		}
	}
}

// Large requests stay until they have too many bytes together.
func TestListedRequestsAreBoundedInBytes(t *testing.T) {
	p, request := aQuiet(t, requests.Config{Requests: 1, Slowest: -1, Examples: -1})
	const most, each = 4 << 20, 100_000
	var paths []string
	for range 60 {
		paths = append(paths, request("large", otelattribute.String("text", strings.Repeat("x", each))))
		p.overview()
	}
	request("the one in memory")
	count := 0
	for count < len(paths) && p.found(paths[len(paths)-1-count]) {
		count++
	}
	if count*each > most || count*each < most/2 {
		t.Errorf("%d requests of %d bytes are there, want some with at most %d", count, each, most)
	}
	for i, path := range paths[:len(paths)-count] {
		if p.found(path) {
			t.Errorf("request %d is there, a newer one is not", i)
		}
	}
}

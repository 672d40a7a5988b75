package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/lab/internal/orders"
)

// A shape is a kind of request that a service gets.
type shape struct {
	name    string // for flags
	title   string
	spans   int64 // of each request that is traced; 0: not sampled
	sampler sdktrace.Sampler
	open    func(instrumentation) (*workload, error)
	burst   int    // requests between two flushes; 0: as the flag says
	answer  []byte // to each request over the network; nil: not compared
}

// A workload is a service of one handler, and the request that it gets again and again.
type workload struct {
	handler http.Handler // a *grpc.Server for calls
	request *http.Request
	body    string
	close   func() error // may be nil
}

var (
	always = sdktrace.ParentBased(sdktrace.AlwaysSample())
	never  = sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0))
)

// shapes have handlers that do nothing but what makes spans.
var shapes = []shape{
	{name: "http", title: "HTTP request, 3 marks and 2 measures with 2 attributes each", spans: 3,
		sampler: always, open: openHTTP},
	{name: "unsampled", title: "the same HTTP request, not sampled", sampler: never,
		open: openHTTP},
	{name: "grpc", title: "gRPC unary call with otelgrpc or bridgegrpc, 3 marks and 2 measures with 2 attributes each", spans: 3, sampler: always, open: openGRPC},
	{name: "outgoing", title: "HTTP request with one call through the instrumentation's transport",
		spans: 2, sampler: always, open: openOutgoing},
	{name: "sql", title: "HTTP request with 20 spans of otelsql", spans: 1 + queries,
		sampler: always, open: openSQL},
}

// path is what all HTTP requests ask for.
const path = "/orders/" + orders.ID + "?view=full"

const answer = "<!doctype html><title>an order</title>"

// serving is the workload of a handler function behind a mux and the instrumentation.
func serving(i instrumentation, handle http.HandlerFunc) *workload {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", handle)
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "http://shop.example"+
		path, http.NoBody)
	r.Header.Set("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36")
	r.Header.Set("Accept", "text/html")
	return &workload{handler: i.handler(mux), request: r}
}

func openHTTP(i instrumentation) (*workload, error) {
	return serving(i, func(w http.ResponseWriter, r *http.Request) {
		i.work(r.Context(), nil)
		_, _ = io.WriteString(w, answer)
	}), nil
}

// next is the request of one more call, as net/http's server makes them.
func (l *workload) next() *http.Request {
	r := *l.request
	if l.body != "" {
		r.Body = io.NopCloser(strings.NewReader(l.body))
	}
	return &r
}

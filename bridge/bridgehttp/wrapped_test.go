package bridgehttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/observer"
)

// Requests that are open at once have their own facts each, also if their spans were started by a wrapper.
func TestWrappedTracers(t *testing.T) {
	r := withProcessor(t)
	const requests = 20
	var arrived, served sync.WaitGroup
	arrived.Add(requests)
	h := bridgehttp.Server{TracerProvider: bothproviders.Wrapped(r.provider), Timeline: r.tl}.Middleware(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		arrived.Done()
		arrived.Wait()
		if len(req.Host)%2 > 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.WriteString(w, req.Host)
	}))
	for i := range requests {
		served.Go(func() {
			req := httptest.NewRequest(http.MethodGet, fmt.Sprint("/", i), nil)
			req.Host = strings.Repeat("h", i+1)
			h.ServeHTTP(httptest.NewRecorder(), req)
		})
	}
	served.Wait()
	r.flush(t)
	seen := map[string]bool{}
	for _, s := range r.got.all() {
		host := tag(s, "server.address")
		seen[host] = true
		want := map[string]string{
			"url.path": fmt.Sprint("/", len(host)-1), "http.response.body.size": strconv.Itoa(len(host)), "http.response.status_code": "200", "error.type": "",
		}
		status := codes.Unset
		if len(host)%2 > 0 {
			want["http.response.status_code"], want["error.type"], status = "500", "500", codes.Error
		}
		for key, value := range want {
			if got := tag(s, key); got != value {
				t.Errorf("%s: %s is %q, want %q", host, key, got, value)
			}
		}
		if s.Status().Code != status {
			t.Errorf("%s: the status is %v, want %v", host, s.Status().Code, status)
		}
	}
	if len(seen) != requests {
		t.Errorf("there are spans of %v, want %d requests", seen, requests)
	}
}

// A processor reads spans while they are open, and the program ends some on another goroutine. The race detector looks at the facts of the answer.
func TestLiveSpansAreRead(t *testing.T) {
	const requests = 100
	var reading sync.WaitGroup
	tl := observer.NewTimeline(observer.TimelineOptions{})
	live := onStart(func(s sdktrace.ReadWriteSpan) {
		reading.Go(func() {
			for s.IsRecording() {
				s.Attributes()
			}
		})
	})
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: sdktrace.AlwaysSample(), Processors: []sdktrace.SpanProcessor{live}})
	defer func() { _ = p.Shutdown(context.Background()) }()
	h := bridgehttp.Server{TracerProvider: p, Timeline: tl}.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/ends" {
			span := trace.SpanFromContext(req.Context())
			reading.Go(func() { span.End() })
		}
	}))
	for i := range requests {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, []string{"/", "/ends"}[i%2], nil))
	}
	reading.Wait()
}

// onStart is a processor that calls itself with each new span.
type onStart func(sdktrace.ReadWriteSpan)

func (f onStart) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { f(s) }
func (onStart) OnEnd(sdktrace.ReadOnlySpan)                           {}
func (onStart) ForceFlush(context.Context) error                      { return nil }
func (onStart) Shutdown(context.Context) error                        { return nil }

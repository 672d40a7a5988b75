package bridgehttp_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/marks"
)

// A heavyWriter and a heavyBody take memory of their own, as what routers and other middlewares wrap around a request.
type heavyWriter struct {
	http.ResponseWriter
	_ [4 << 10]byte
}

type heavyBody struct {
	io.ReadCloser
	_ [4 << 10]byte
}

// heavy gives requests to h with a heavy writer and a heavy body, and watches what a server and a handler have of them.
func heavy(h http.Handler, parts *garbage.Objects) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writer, body := &heavyWriter{ResponseWriter: w}, &heavyBody{ReadCloser: r.Body}
		garbage.Watch(parts, "request", r)
		garbage.Watch(parts, "writer", writer)
		garbage.Watch(parts, "body", body)
		r.Body = body
		h.ServeHTTP(writer, r)
	})
}

// detach serves requests with bodies. It returns the contexts of their handlers, as detached jobs have them, and the parts.
func detach(t *testing.T, requests int, wrap func(http.Handler) http.Handler) (contexts []context.Context, parts *garbage.Objects) {
	t.Helper()
	parts = &garbage.Objects{}
	var mu sync.Mutex
	r := withProcessor(t)
	s := r.open(t, "http/1.1", heavy(wrap(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		garbage.Watch(parts, "handler's request", req)
		_, _ = io.Copy(io.Discard, req.Body)
		marks.Mark(ctx, "mark")
		marks.Time(ctx, "measure").End()
		_, _ = io.WriteString(w, "hello")
		mu.Lock()
		defer mu.Unlock()
		contexts = append(contexts, context.WithoutCancel(ctx))
	})), parts))
	for range requests {
		if _, _, err := s.do(t, newRequest(t, http.MethodPost, s.url, strings.NewReader(strings.Repeat("x", 2<<10)))); err != nil {
			t.Fatal(err)
		}
	}
	s.client.CloseIdleConnections()
	return contexts, parts
}

// The context of a job that outlives its request keeps nothing of the request.
func TestDetachedContextKeepsNothingOfTheRequest(t *testing.T) {
	r := withProcessor(t)
	server := r.server()
	server.ServerTiming = bridgehttp.ServerTiming{Names: []string{"*"}}
	contexts, parts := detach(t, 20, server.Middleware)
	parts.Wait(t) // the connections let go of their last request on goroutines of their own
	if len(contexts) != 20 {
		t.Errorf("%d handlers ran, want 20", len(contexts))
	}
}

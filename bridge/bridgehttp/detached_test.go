package bridgehttp_test

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// parts are what a server and a handler have of a request, without keeping it in memory.
type parts struct {
	request, inner weak.Pointer[http.Request]
	writer         weak.Pointer[heavyWriter]
	body           weak.Pointer[heavyBody]
}

// A heavyWriter and a heavyBody take memory of their own, as what routers and other middlewares wrap around a request.
type heavyWriter struct {
	http.ResponseWriter
	_ [4 << 10]byte
}

type heavyBody struct {
	io.ReadCloser
	_ [4 << 10]byte
}

// heavy gives requests to h with a heavy writer and a heavy body, and notes their parts.
func heavy(h http.Handler, note func(parts)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := parts{request: weak.Make(r)}
		writer, body := &heavyWriter{ResponseWriter: w}, &heavyBody{ReadCloser: r.Body}
		p.writer, p.body = weak.Make(writer), weak.Make(body)
		r.Body = body
		h.ServeHTTP(writer, r.WithContext(context.WithValue(r.Context(), requestKey{}, func(inner *http.Request) {
			p.inner = weak.Make(inner)
			note(p)
		})))
	})
}

// detach serves requests with bodies. It returns the contexts of their handlers, as detached jobs have them, and the parts.
func detach(t *testing.T, requests int, wrap func(http.Handler) http.Handler) (contexts []context.Context, all []parts) {
	t.Helper()
	var mu sync.Mutex
	r := withProcessor(t)
	s := r.open(t, "http/1.1", heavy(wrap(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx := req.Context()
		ctx.Value(requestKey{}).(func(*http.Request))(req)
		_, _ = io.Copy(io.Discard, req.Body)
		marks.Mark(ctx, "mark")
		marks.Time(ctx, "measure").End()
		_, _ = io.WriteString(w, "hello")
		mu.Lock()
		defer mu.Unlock()
		contexts = append(contexts, context.WithoutCancel(ctx))
	})), func(p parts) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, p)
	}))
	for range requests {
		if _, _, err := s.do(t, newRequest(t, http.MethodPost, s.url, strings.NewReader(strings.Repeat("x", 2<<10)))); err != nil {
			t.Fatal(err)
		}
	}
	s.client.CloseIdleConnections()
	return contexts, all
}

// The context of a job that outlives its request keeps nothing of the request.
func TestDetachedContextKeepsNothingOfTheRequest(t *testing.T) {
	r := withProcessor(t)
	server := r.server()
	server.ServerTiming = bridgehttp.ServerTiming{Names: []string{"*"}}
	contexts, all := detach(t, 20, server.Middleware)
	alive := func() (what []string) {
		for _, p := range all {
			for name, there := range map[string]bool{
				"request": p.request.Value() != nil, "handler's request": p.inner.Value() != nil,
				"writer": p.writer.Value() != nil, "body": p.body.Value() != nil,
			} {
				if there {
					what = append(what, name)
				}
			}
		}
		return what
	}
	// The connections let go of their last request on goroutines of their own.
	for range 200 {
		if runtime.GC(); len(alive()) == 0 {
			break
		}
		runtime.Gosched()
	}
	if what := alive(); len(what) > 0 {
		t.Errorf("the contexts of %d requests keep %v", len(all), what)
	}
	runtime.KeepAlive(contexts)
}

// The contexts of 1000 requests take little more memory than without the middleware.
func TestDetachedContextsAreSmall(t *testing.T) {
	const requests = 1000
	size := func(wrap func(http.Handler) http.Handler) int64 {
		before := heapInUse()
		contexts, _ := detach(t, requests, wrap)
		after := heapInUse()
		runtime.KeepAlive(contexts)
		return after - before
	}
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := bothproviders.New(t, tl, nil, &tally{spans: map[string]int64{}, marks: map[string]int64{}}) // keeps no spans
	defer func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	plain := size(func(h http.Handler) http.Handler { return h })
	wrapped := size(bridgehttp.Server{TracerProvider: tp, Timeline: tl}.Middleware)
	t.Logf("%d contexts take %d KiB, and %d KiB without the middleware", requests, wrapped>>10, plain>>10)
	if more := wrapped - plain; more > 3<<20 {
		t.Errorf("%d contexts take %d KiB more than without the middleware, want at most 3 MiB", requests, more>>10)
	}
}

func heapInUse() int64 {
	for range 3 { // cleanups, and what they let go of
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

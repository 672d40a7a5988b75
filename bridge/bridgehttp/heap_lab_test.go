//go:build lab

package bridgehttp_test

import (
	"context"
	"net/http"
	"runtime"
	"testing"

	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/observer"
)

// The contexts of 1000 requests take little more memory than without the middleware.
func TestLabDetachedContextsAreSmall(t *testing.T) {
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

// The heap has little for each long request, also while the program keeps its span and its entry.
func TestLabRequestsOfAnyLength(t *testing.T) {
	const requests, most = 16, 40 << 10
	for name, change := range longRequests(500 << 10) {
		t.Run(name, func(t *testing.T) {
			r := withProcessor(t)
			before := heapInUse()
			entries := serveLong(t, r, requests, func(_ *http.Request) {}, change)
			if each := (heapInUse() - before) / requests; each > most {
				t.Errorf("a request costs %d bytes as long as its span and its entry are kept, want %d at most", each, most)
			}
			runtime.KeepAlive(entries)
		})
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

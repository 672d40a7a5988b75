//go:build lab

package requests_test

import (
	"runtime"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/internal/requests"
)

// A request in memory is little more than its encoded spans, in one object for the garbage collector.
func TestLabMemoryOfRequests(t *testing.T) {
	const n = 10_000
	r := requests.NewRecent(requests.Config{Requests: n, MaxPending: n})
	p := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r))
	heap := func() (bytes, objects float64) {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc), float64(m.HeapObjects)
	}
	bytes, objects := heap()
	for i := range n {
		serve(p, i)
	}
	after, objectsAfter := heap()
	bytes, objects = (after-bytes)/n, (objectsAfter-objects)/n
	t.Logf("%.0f bytes and %.2f objects for each request", bytes, objects)
	if bytes > 1500 || objects > 2.5 {
		t.Errorf("%.0f bytes and %.2f objects for each request, want 1500 and 2.5 at most", bytes, objects)
	}
	runtime.KeepAlive(p)
}

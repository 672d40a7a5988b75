//go:build lab

package bridgegrpc_test

import (
	"context"
	"runtime"
	"testing"

	"google.golang.org/grpc"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/observer"
)

// The contexts of jobs that outlive their calls take little more memory than gRPC's own.
func TestLabDetachedContextsAreSmall(t *testing.T) {
	const calls = 1000
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := bothproviders.New(t, tl, nil, discarder{})
	defer func() {
		if err := tp.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	size := func(options ...grpc.ServerOption) int64 {
		before := heapInUse()
		contexts, _ := detach(t, calls, options...)
		after := heapInUse()
		runtime.KeepAlive(contexts)
		return after - before
	}
	plain := size()
	handled := size(grpc.StatsHandler(bridgegrpc.Server{TracerProvider: tp, Timeline: tl}.Handler()))
	t.Logf("%d contexts take %d KiB, and %d KiB without the handler", calls, handled>>10, plain>>10)
	if more := handled - plain; more > 3<<20 {
		t.Errorf("%d contexts take %d KiB more than without the handler, want at most 3 MiB", calls, more>>10)
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

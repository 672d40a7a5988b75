package bridgegrpc_test

import (
	"context"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"weak"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// detach makes calls of a server. It returns the contexts of their handlers, as detached jobs have them, and the messages.
func detach(t *testing.T, calls int, options ...grpc.ServerOption) (contexts []context.Context, messages []weak.Pointer[text]) {
	t.Helper()
	var mu sync.Mutex
	s := &shop{buy: func(ctx context.Context, in *text) (*text, error) {
		marks.Mark(ctx, "mark")
		marks.Time(ctx, "measure").End()
		mu.Lock()
		defer mu.Unlock()
		contexts = append(contexts, context.WithoutCancel(ctx))
		out := wrapperspb.String(in.GetValue())
		messages = append(messages, weak.Make(in), weak.Make(out))
		return out, nil
	}}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(append(options, grpc.WaitForHandlers(true))...)
	srv.RegisterService(&service, s)
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	conn, err := grpc.NewClient(lis.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	for range calls {
		if err := conn.Invoke(ctx, "/"+buy, wrapperspb.String(strings.Repeat("x", 4<<10)), &text{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	srv.Stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	return contexts, messages
}

// A discarder is a processor that keeps no spans.
type discarder struct{}

func (discarder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discarder) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discarder) ForceFlush(context.Context) error                { return nil }
func (discarder) Shutdown(context.Context) error                  { return nil }

// The context of a job that outlives its call keeps no message of the call, and little more memory than gRPC's own does.
func TestDetachedContexts(t *testing.T) {
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
		contexts, messages := detach(t, calls, options...)
		after := heapInUse()
		for _, m := range messages {
			if m.Value() != nil {
				t.Error("a message is kept")
				break
			}
		}
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

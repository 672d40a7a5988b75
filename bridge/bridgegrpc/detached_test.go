package bridgegrpc_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/internal/bothproviders"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// detach makes calls of a server. It returns the contexts of their handlers, as detached jobs have them, and the messages.
func detach(t *testing.T, calls int, options ...grpc.ServerOption) (contexts []context.Context, messages *garbage.Objects) {
	t.Helper()
	messages = &garbage.Objects{}
	var mu sync.Mutex
	s := &shop{buy: func(ctx context.Context, in *text) (*text, error) {
		marks.Mark(ctx, "mark")
		marks.Time(ctx, "measure").End()
		mu.Lock()
		defer mu.Unlock()
		contexts = append(contexts, context.WithoutCancel(ctx))
		out := wrapperspb.String(in.GetValue())
		garbage.Watch(messages, "question", in)
		garbage.Watch(messages, "answer", out)
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

// The context of a job that outlives its call keeps no message of the call.
func TestDetachedContexts(t *testing.T) {
	const calls = 20
	tl := observer.NewTimeline(observer.TimelineOptions{})
	tp := bothproviders.New(t, tl, nil, discarder{})
	contexts, messages := detach(t, calls, grpc.StatsHandler(bridgegrpc.Server{TracerProvider: tp, Timeline: tl}.Handler()))
	messages.Wait(t)
	if len(contexts) != calls {
		t.Errorf("%d calls, want %d", len(contexts), calls)
	}
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
}

// A discarder is a processor that keeps no spans.
type discarder struct{}

func (discarder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discarder) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discarder) ForceFlush(context.Context) error                { return nil }
func (discarder) Shutdown(context.Context) error                  { return nil }

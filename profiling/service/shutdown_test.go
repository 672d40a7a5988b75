package service_test

import (
	"context"
	"net/http"
	"testing"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

// A server that shuts down does not wait for streams: they end, and say why.
func TestStreamsEndAtShutdown(t *testing.T) {
	p := newProgram(t)
	id := uint32(p.recorded(t, bigNames)) // streams of it are not over soon
	if _, err := p.Start(p.ctx, sessions.StartOptions{NoSamples: true}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		open func(context.Context, profilerv1connect.ProfilerServiceClient) (receiver, error)
	}{
		{"WatchSession", func(ctx context.Context, c profilerv1connect.ProfilerServiceClient) (receiver, error) {
			return c.WatchSession(ctx, &pb.WatchSessionArg{SessionId: id + 1})
		}},
		{"StreamEvents", func(ctx context.Context, c profilerv1connect.ProfilerServiceClient) (receiver, error) {
			s, err := c.GetSession(ctx, &pb.GetSessionArg{SessionId: id})
			if err != nil {
				return nil, err
			}
			return c.StreamEvents(ctx, &pb.GetEventsArg{SessionId: id, TimelineId: theTimeline(s), Limit: 10})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			servers := make(chan *http.Server, 2)
			url := serveHandler(t, p.Recorder, service.Config{}, func(h http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					servers <- r.Context().Value(http.ServerContextKey).(*http.Server)
					h.ServeHTTP(w, r)
				})
			})
			ctx, cancel := context.WithTimeout(t.Context(), deadline)
			defer cancel()
			c := profilerv1connect.NewProfilerServiceClient(httpClient(t, false), url, connect.WithAcceptCompression("gzip", nil, nil))
			stream, err := tt.open(ctx, c)
			if err != nil || !stream.Receive() {
				t.Fatalf("no stream: %v", err)
			}
			defer stream.Close()
			server, notified, over := <-servers, make(chan struct{}), make(chan error)
			server.RegisterOnShutdown(func() { close(notified) })
			go func() { over <- server.Shutdown(ctx) }()
			<-notified
			for stream.Receive() {
			}
			if got := failure(stream.Err()); got != "unavailable: the server shuts down" {
				t.Errorf("the stream ended with %q, want unavailable", got)
			}
			if err := <-over; err != nil {
				t.Errorf("the server did not shut down: %v", err)
			}
		})
	}
}

// receiver is a stream of messages of any type.
type receiver interface {
	Receive() bool
	Err() error
	Close() error
}

package service_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

// A server that shuts down does not wait for streams: they end, and say why.
func TestStreamsEndAtShutdown(t *testing.T) {
	for name, open := range map[string]func(context.Context, profilerv1connect.ProfilerServiceClient, uint32) (receiver, error){
		"WatchSession": func(ctx context.Context, c profilerv1connect.ProfilerServiceClient, id uint32) (receiver, error) {
			return c.WatchSession(ctx, &pb.WatchSessionArg{SessionId: id + 1})
		},
		"StreamEvents": func(ctx context.Context, c profilerv1connect.ProfilerServiceClient, id uint32) (receiver, error) {
			s, err := c.GetSession(ctx, &pb.GetSessionArg{SessionId: id})
			if err != nil {
				return nil, err
			}
			return c.StreamEvents(ctx, &pb.GetEventsArg{SessionId: id, TimelineId: theTimeline(s), Limit: 10})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newProgram(t)
				id := uint32(p.recorded(t, bigNames)) // streams of it are not over soon
				if _, err := p.Start(p.ctx, sessions.StartOptions{NoSamples: true}); err != nil {
					t.Fatal(err)
				}
				servers := make(chan *http.Server, 2)
				_, client := serveInMemory(t, p.Recorder, service.Config{}, func(h http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						servers <- r.Context().Value(http.ServerContextKey).(*http.Server)
						h.ServeHTTP(w, r)
					})
				})
				c := profilerv1connect.NewProfilerServiceClient(client, inMemory, connect.WithAcceptCompression("gzip", nil, nil))
				stream, err := open(t.Context(), c, id)
				if err != nil || !stream.Receive() {
					t.Fatalf("no stream: %v", err)
				}
				defer stream.Close()
				server, over := <-servers, make(chan error)
				go func() { over <- server.Shutdown(t.Context()) }()
				synctest.Wait() // the handler has been told, or will be when the client goes on reading
				for stream.Receive() {
				}
				if got := failure(stream.Err()); got != "unavailable: the server shuts down" {
					t.Errorf("the stream ended with %q, want unavailable", got)
				}
				if err := <-over; err != nil {
					t.Errorf("the server did not shut down: %v", err)
				}
			})
		})
	}
}

// receiver is a stream of messages of any type.
type receiver interface {
	Receive() bool
	Err() error
	Close() error
}

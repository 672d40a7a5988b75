package service_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/memnet"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/service"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
	"github.com/perfline/perfline/profiling/sessions"
)

// deadline is for tests that would hang if they failed.
const deadline = 2 * time.Minute

// ends is around a handler and tells when each of its requests has been served.
func ends(served chan<- string) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() { served <- r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:] }()
			h.ServeHTTP(w, r)
		})
	}
}

func wait(t *testing.T, served <-chan string, method string) {
	t.Helper()
	for {
		select {
		case m := <-served:
			if m == method {
				return
			}
		case <-time.After(deadline):
			t.Fatalf("%s is still being served %v after its client went away", method, deadline)
		}
	}
}

// bigNames are 20 MB: more than buffers between server and client hold.
func bigNames(ctx context.Context) {
	name := strings.Repeat("n", 1000)
	for i := range 10_000 {
		marks.Mark(ctx, name, slog.String("v", name))
		deliver(ctx, i)
	}
}

// A client that goes away in the middle of a stream ends the work, and nothing of it is left:
// TestMain looks for goroutines.
func TestClientGoesAwayMidStream(t *testing.T) {
	p := newProgram(t)
	id := uint32(p.recorded(t, bigNames))
	served := make(chan string, 100)
	url := serveHandler(t, p.Recorder, service.Config{}.With(service.Limits{MaxStreams: 1}), ends(served))
	for _, tt := range []struct {
		name  string
		http2 bool
		opts  []connect.ClientOption
	}{
		{"Connect", false, nil},
		{"gRPC", true, []connect.ClientOption{connect.WithGRPC()}},
		{"gRPC-Web", false, []connect.ClientOption{connect.WithGRPCWeb()}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Compressed, all of it would be on its way before the client has gone.
			plain := connect.WithAcceptCompression("gzip", nil, nil)
			c := profilerv1connect.NewProfilerServiceClient(httpClient(t, tt.http2), url, append(tt.opts, plain)...)
			s, err := c.GetSession(t.Context(), &pb.GetSessionArg{SessionId: id})
			if err != nil {
				t.Fatal(err)
			}
			a := &pb.GetEventsArg{SessionId: id, TimelineId: theTimeline(s), Limit: 100}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stream, err := c.StreamEvents(ctx, a)
			if err != nil {
				t.Fatal(err)
			}
			if !stream.Receive() {
				t.Fatalf("no message: %v", stream.Err())
			}
			other, err := c.StreamEvents(t.Context(), a)
			if err == nil {
				other.Receive()
				err = other.Err()
				other.Close()
			}
			if got := failure(err); got != "resource_exhausted: streams: 1 at a time are allowed: try again when one has ended" {
				t.Errorf("a second stream at a time: %q, want it refused", got)
			}
			wait(t, served, "StreamEvents")
			cancel()
			stream.Close()
			wait(t, served, "StreamEvents")

			next, err := c.StreamEvents(t.Context(), a) // its place is free again
			if err != nil || !next.Receive() {
				t.Errorf("the next stream: error %v, want it to begin", errors.Join(err, next.Err()))
			}
			next.Close()
			wait(t, served, "StreamEvents")
		})
	}
}

// A client that is connected but reads nothing has its place for SendTimeout only.
func TestClientTakesNothing(t *testing.T) { synctest.Test(t, testClientTakesNothing) }

func testClientTakesNothing(t *testing.T) {
	p := newProgram(t)
	id := uint32(p.recorded(t, bigNames))
	served := make(chan string, 100)
	n, c := serveInMemory(t, p.Recorder, service.Config{}.With(service.Limits{SendTimeout: 2 * time.Second}), ends(served))
	s, err := profilerv1connect.NewProfilerServiceClient(c, inMemory).GetSession(t.Context(), &pb.GetSessionArg{SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	conn, err := n.Dial(t.Context(), "tcp", memnet.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body, err := proto.Marshal(&pb.GetEventsArg{SessionId: id, TimelineId: theTimeline(s)})
	if err != nil {
		t.Fatal(err)
	}
	body = append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...) // Connect's envelope
	r, err := http.NewRequest("POST", inMemory+prefix+"StreamEvents", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/connect+proto")
	if err := r.Write(conn); err != nil {
		t.Fatal(err)
	}
	if status, err := bufio.NewReaderSize(conn, 16).ReadString('\n'); err != nil || !strings.Contains(status, "200") {
		t.Fatalf("got %q, %v, want a stream to begin", status, err)
	}
	began := time.Now()
	wait(t, served, "StreamEvents")
	if took := time.Since(began); took != 2*time.Second {
		t.Errorf("the stream ended after %v, want SendTimeout", took)
	}
}

// deadlines notes those that a handler sets for its answer.
type deadlines struct {
	http.ResponseWriter
	set *[]time.Time
}

func (d deadlines) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d deadlines) Flush() { _ = http.NewResponseController(d.ResponseWriter).Flush() }

func (d deadlines) SetWriteDeadline(at time.Time) error {
	*d.set = append(*d.set, at)
	return nil
}

// Each message has a deadline. The next request on the connection must not have the last message's.
func TestDeadlinesOfAStream(t *testing.T) {
	p := newProgram(t)
	id := uint32(p.recorded(t, manyMarks(3)))
	var set []time.Time
	served := make(chan string, 100)
	url := serveHandler(t, p.Recorder, service.Config{}.With(service.Limits{SendTimeout: time.Hour}), func(h http.Handler) http.Handler {
		return ends(served)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.ServeHTTP(deadlines{w, &set}, r)
		}))
	})
	c := client(t, url)
	s, err := c.GetSession(t.Context(), &pb.GetSessionArg{SessionId: id})
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	if list, err := all(c.StreamEvents(t.Context(), &pb.GetEventsArg{SessionId: id, TimelineId: theTimeline(s), Limit: 1})); err != nil || len(list) != 3 {
		t.Fatalf("%d messages, error %v, want 3", len(list), err)
	}
	wait(t, served, "StreamEvents")
	if len(set) != 4 || !set[3].IsZero() {
		t.Fatalf("deadlines are %v, want one for each of 3 messages, and none in the end", set)
	}
	for _, at := range set[:3] {
		if in := at.Sub(before); in < time.Hour || in > time.Hour+time.Minute {
			t.Errorf("a message may take %v, want an hour", in)
		}
	}
}

// A client that watches sees the session end. A client that disconnects ends its watch.
func TestWatch(t *testing.T) {
	p := newProgram(t)
	served := make(chan string, 100)
	url := serveHandler(t, p.Recorder, service.Config{}, ends(served))
	c := client(t, url)
	id, err := c.StartProfiler(t.Context(), &pb.StartProfilerArg{StartMode: pb.StartMode_START_MODE_IMMEDIATE, NoSamples: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	gone, err := c.WatchSession(ctx, &pb.WatchSessionArg{SessionId: id.GetSessionId()})
	if err != nil || !gone.Receive() {
		t.Fatal(err)
	}
	cancel()
	gone.Close()
	wait(t, served, "WatchSession")

	stays, err := c.WatchSession(t.Context(), &pb.WatchSessionArg{SessionId: id.GetSessionId()})
	if err != nil || !stays.Receive() {
		t.Fatal(err)
	}
	defer stays.Close()
	if got := stays.Msg(); got.GetState() != pb.State_STATE_RECORDING || !got.GetRemote() || got.GetStarted().AsTime().IsZero() {
		t.Errorf("first comes %v, want a session that records", got)
	}
	if _, err := c.StopProfiler(t.Context(), &pb.StopProfilerArg{SessionId: id.GetSessionId()}); err != nil {
		t.Fatal(err)
	}
	last := &pb.Status{}
	for stays.Receive() {
		last = proto.CloneOf(stays.Msg())
	}
	if err := stays.Err(); err != nil || last.GetState() != pb.State_STATE_READY {
		t.Errorf("last comes %v, error %v, want a session that is ready", last, err)
	}
}

// faulty is a recorder at fault, or one that takes its time.
type faulty struct {
	service.Recorder
	stop  func(context.Context) error
	watch error
}

func (f faulty) Stop(ctx context.Context, _ sessions.SessionID) (*sessions.Session, error) {
	return nil, f.stop(ctx)
}

func (f faulty) Watch(context.Context, sessions.SessionID) iter.Seq2[sessions.Status, error] {
	return func(yield func(sessions.Status, error) bool) {
		if yield(sessions.Status{ID: 1, State: sessions.Processing, Progress: 0.5}, nil) {
			yield(sessions.Status{}, f.watch)
		}
	}
}

// The errors of a recorder, in the schema's codes.
func TestErrorsOfTheRecorder(t *testing.T) {
	p := newProgram(t)
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"invalid", fmt.Errorf("%w: limit -1", sessions.ErrInvalid), "BAD_REQUEST invalid_argument: invalid argument: limit -1"},
		{"not found", fmt.Errorf("session 1: %w", sessions.ErrNotFound), "BAD_REQUEST not_found: session 1: not found"},
		{"in progress", sessions.ErrInProgress, "BAD_REQUEST failed_precondition: another session is in progress"},
		{"in another state", sessions.ErrState, "BAD_REQUEST failed_precondition: not possible in this state"},
		{"full", sessions.ErrFull, "BAD_REQUEST resource_exhausted: no room for another session"},
		{"closed", sessions.ErrClosed, "unavailable: the recorder is closed"},
		{"at fault", errors.New("no memory"), "internal: no memory"},
		{"its own time is over", context.DeadlineExceeded, "deadline_exceeded: context deadline exceeded"},
		{"stopped itself", context.Canceled, "canceled: context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := client(t, serve(t, faulty{p.Recorder, func(context.Context) error { return tt.err }, tt.err}, service.Config{}))
			_, err := c.StopProfiler(t.Context(), &pb.StopProfilerArg{SessionId: 1})
			if got := failure(err); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			list, err := all(c.WatchSession(t.Context(), &pb.WatchSessionArg{SessionId: 1}))
			if got := failure(err); got != tt.want || len(list) != 1 || list[0].(*pb.Status).GetProgress() != 0.5 {
				t.Errorf("watching: got %v and %q, want half of the progress and %q", list, got, tt.want)
			}
		})
	}
}

// StopProfiler ends when its client disconnects.
func TestClientGoesAwayWhileStopping_SP3(t *testing.T) {
	p := newProgram(t)
	served, stopping := make(chan string, 1), make(chan struct{})
	c := client(t, serveHandler(t, faulty{Recorder: p.Recorder, stop: func(ctx context.Context) error {
		close(stopping)
		<-ctx.Done()
		return ctx.Err()
	}}, service.Config{}, ends(served)))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := c.StopProfiler(ctx, &pb.StopProfilerArg{SessionId: 1})
		failed <- err
	}()
	<-stopping
	cancel()
	wait(t, served, "StopProfiler")
	if got := failure(<-failed); !strings.HasPrefix(got, "canceled: ") {
		t.Errorf("the client got %q, want canceled", got)
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/service/profilerv1/profilerv1connect"
)

const hostile = "\x1b]0;owned\x07\x1b[2J\r\u202e"

// evil is a service that answers with what a terminal would obey, wherever it can.
type evil struct {
	profilerv1connect.UnimplementedProfilerServiceHandler
	fails bool
}

func (e evil) StartProfiler(context.Context, *pb.StartProfilerArg) (*pb.SessionID, error) {
	if e.fails {
		return nil, connect.NewError(connect.CodeInternal, errors.New(hostile))
	}
	return &pb.SessionID{SessionId: 1}, nil
}

func (evil) WatchSession(_ context.Context, _ *pb.WatchSessionArg, s *connect.ServerStream[pb.Status]) error {
	for _, st := range []*pb.Status{
		{State: pb.State_STATE_WAITING, Route: hostile},
		{State: pb.State_STATE_RECORDING, Sampler: hostile},
		{State: pb.State_STATE_PROCESSING, Progress: -7},
		{State: pb.State_STATE_READY},
	} {
		if err := s.Send(st); err != nil {
			return err
		}
	}
	return nil
}

func (evil) StopProfiler(context.Context, *pb.StopProfilerArg) (*pb.Session, error) {
	return &pb.Session{SessionId: 1, TimelineList: []*pb.Timeline{{TimelineId: 1, Name: hostile}}}, nil
}

func (evil) events() *pb.Events {
	return &pb.Events{EventList: []*pb.Event{{Type: 99, Name: hostile, EventId: new(uint32(1)),
		Detail: []*pb.Detail{{Key: hostile, Value: &pb.Detail_StringValue{StringValue: hostile}}}}}}
}

func (e evil) GetEvents(context.Context, *pb.GetEventsArg) (*pb.Events, error) {
	return e.events(), nil
}

func (e evil) StreamEvents(_ context.Context, _ *pb.GetEventsArg, s *connect.ServerStream[pb.Events]) error {
	return s.Send(e.events())
}

func (evil) ReleaseSession(context.Context, *pb.ReleaseSessionArg) (*pb.Default, error) {
	return nil, connect.NewError(connect.CodeInternal, errors.New(hostile))
}

// Nothing that a service says is obeyed by a terminal.
func TestHostileService(t *testing.T) {
	for name, fails := range map[string]bool{"it answers": false, "it fails": true} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.Handle(profilerv1connect.NewProfilerServiceHandler(evil{fails: fails}))
			srv := httptest.NewServer(mux)
			defer srv.Close()
			out := printed(t, func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := (control{profilerv1connect.NewProfilerServiceClient(srv.Client(), srv.URL)}).run(ctx, "", time.Millisecond, 3); err != nil {
					complain(err)
				}
			})
			if bad := regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u202e]").FindString(strings.ReplaceAll(out, "\r", "")); bad != "" || !strings.Contains(out, "·]0;owned·") {
				t.Errorf("it printed %q: %q", bad, out)
			}
		})
	}
}

// printed is what f writes to both outputs.
func printed(t *testing.T, f func()) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = w, w
	read := make(chan string)
	go func() {
		var b bytes.Buffer
		_, _ = io.Copy(&b, r)
		read <- b.String()
	}()
	f()
	os.Stdout, os.Stderr = stdout, stderr
	w.Close()
	return <-read
}

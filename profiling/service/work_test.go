package service

import (
	"context"
	"testing"
	"testing/synctest"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

// emptySession is a session without timelines.
func emptySession(t *testing.T) *sessions.Session {
	t.Helper()
	r := sessions.NewRecorder(sessions.Config{Timeline: observer.NewTimeline(observer.TimelineOptions{})})
	defer r.Close()
	id, err := r.Start(t.Context(), sessions.StartOptions{Route: "GET /nobody", NoSamples: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Stop(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A recorderOf is a recorder that has one session.
type recorderOf struct {
	Recorder
	s *sessions.Session
}

func (k recorderOf) RemoteSession(sessions.SessionID) (*sessions.Session, error) { return k.s, nil }

// Queries that go through whole timelines wait for each other, two at a time, and are given up
// with who asked; a page of events does not wait.
func TestWorkIsBounded(t *testing.T) {
	empty := emptySession(t)
	reduced := &profilerv1.GetEventsArg{SessionId: 1, TimelineId: 1, Mode: profilerv1.Mode_MODE_REDUCE_ALL.Enum()}
	page := &profilerv1.GetEventsArg{SessionId: 1, TimelineId: 1}
	for _, c := range []struct {
		name  string
		ask   func(context.Context, *server) error
		waits bool
	}{
		{"virtual events", func(ctx context.Context, s *server) error { _, err := s.GetEvents(ctx, reduced); return err }, true},
		{"a stream", func(ctx context.Context, s *server) error { return status(s.pages(ctx, page, nil)) }, true},
		{"a page", func(ctx context.Context, s *server) error { _, err := s.GetEvents(ctx, page); return err }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{recorder: recorderOf{s: empty}, work: make(chan struct{}, maxWork)}
				s.work <- struct{}{}
				answered := func(err error) bool { return connect.CodeOf(err) == connect.CodeNotFound } // it has no timeline
				if err := c.ask(t.Context(), s); !answered(err) {
					t.Fatalf("beside one other: %v", err)
				}
				if len(s.work) != 1 {
					t.Fatalf("%d are at work, want the other one", len(s.work))
				}
				s.work <- struct{}{}
				errs := make(chan error, 2)
				ctx, cancel := context.WithCancel(t.Context())
				go func() { errs <- c.ask(ctx, s) }()
				go func() { errs <- c.ask(t.Context(), s) }()
				synctest.Wait()
				if !c.waits {
					if a, b := <-errs, <-errs; !answered(a) || !answered(b) {
						t.Errorf("beside two others: %v, %v", a, b)
					}
					cancel()
					return
				}
				if len(errs) > 0 {
					t.Fatalf("beside two others: %v, want it to wait", <-errs)
				}
				cancel()
				if err := <-errs; connect.CodeOf(err) != connect.CodeCanceled {
					t.Errorf("of a client that is gone: %v", err)
				}
				<-s.work
				if err := <-errs; !answered(err) {
					t.Errorf("when it is its turn: %v", err)
				}
			})
		})
	}
}

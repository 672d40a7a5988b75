package service

import (
	"context"
	"fmt"

	"connectrpc.com/connect"

	"github.com/perfline/perfline/internal/text"
	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

func (s *server) StartProfiler(ctx context.Context, a *pb.StartProfilerArg) (*pb.SessionID, error) {
	options, err := startOptions(a)
	if err != nil {
		return nil, status(err)
	}
	undo, err := s.start()
	if err != nil {
		return nil, err
	}
	id, err := s.recorder.Start(ctx, options)
	if err != nil {
		undo()
		return nil, status(err)
	}
	peer := ""
	if call, ok := connect.CallInfoForHandlerContext(ctx); ok {
		peer = call.Peer().Addr
	}
	s.logger.InfoContext(ctx, "perfline: a session was started from outside", "session", id,
		"remote", text.Line(peer, maxError), "route", cut(options.Route))
	return &pb.SessionID{SessionId: uint32(id)}, nil
}

func (s *server) StopProfiler(ctx context.Context, a *pb.StopProfilerArg) (*pb.Session, error) {
	stopped, err := s.recorder.Stop(ctx, sessions.SessionID(a.GetSessionId()))
	if err != nil {
		return nil, status(err)
	}
	return session(stopped, 0, defaultLimit), nil
}

func (s *server) GetSession(_ context.Context, a *pb.GetSessionArg) (*pb.Session, error) {
	n, err := limit(a.GetLimit())
	if err != nil {
		return nil, status(err)
	}
	stopped, err := s.recorder.RemoteSession(sessions.SessionID(a.GetSessionId()))
	if err != nil {
		return nil, status(err)
	}
	after := sessions.TimelineID(a.GetAfterTimelineId())
	if _, known := stopped.Timeline(after); a.AfterTimelineId != nil && !known {
		return nil, status(fmt.Errorf("afterTimelineID %d: %w: session %d has no such timeline",
			after, sessions.ErrNotFound, stopped.ID()))
	}
	return session(stopped, after, n), nil
}

func (s *server) GetEvents(ctx context.Context, a *pb.GetEventsArg) (*pb.Events, error) {
	page, err := s.page(ctx, a)
	return page, status(err)
}

func (s *server) StreamEvents(ctx context.Context, a *pb.GetEventsArg,
	stream *connect.ServerStream[pb.Events]) error {
	ctx, sending, done, err := s.stream(ctx)
	if err != nil {
		return err
	}
	defer done()
	return status(s.pages(ctx, a, func(page *pb.Events) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		sending()
		return stream.Send(page)
	}))
}

func (s *server) ReleaseSession(_ context.Context, a *pb.ReleaseSessionArg) (*pb.Default, error) {
	if a.SessionId == nil {
		for _, session := range s.recorder.Statuses() {
			_ = s.recorder.Release(session.ID) // an error says that the session is in progress
		}
		return &pb.Default{}, nil
	}
	if a.GetSessionId() == 0 {
		err := invalid("sessionID 0: ids are never 0: leave it out to release all sessions")
		return nil, status(err)
	}
	err := s.recorder.Release(sessions.SessionID(a.GetSessionId()))
	return &pb.Default{}, status(err)
}

func (s *server) ListSessions(context.Context, *pb.ListSessionsArg) (*pb.SessionList, error) {
	list := &pb.SessionList{}
	for _, st := range s.recorder.Statuses() {
		list.StatusList = append(list.StatusList, statusOf(st))
	}
	return list, nil
}

func (s *server) WatchSession(ctx context.Context, a *pb.WatchSessionArg,
	stream *connect.ServerStream[pb.Status]) error {
	ctx, sending, done, err := s.stream(ctx)
	if err != nil {
		return err
	}
	defer done()
	for st, err := range s.recorder.Watch(ctx, sessions.SessionID(a.GetSessionId())) {
		if err != nil {
			return status(err)
		}
		sending()
		if err := stream.Send(statusOf(st)); err != nil {
			return err
		}
	}
	return status(context.Cause(ctx))
}

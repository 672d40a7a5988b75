package service

import (
	"context"

	pb "github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

// resolve returns the session and the query of a call, and the most events of a message.
func (s *server) resolve(a *pb.GetEventsArg) (
	of *sessions.Session, q sessions.Query, length int, err error) {
	if q, length, err = query(a); err != nil {
		return nil, q, 0, err
	}
	of, err = s.recorder.RemoteSession(sessions.SessionID(a.GetSessionId()))
	return of, q, length, err
}

// maxReduced is the most virtual events of a stream. A query holds all, some 150 bytes each.
const maxReduced = 50_000

// events returns of.Events(ctx, q), which may read a whole timeline. At most maxWork calls read.
func (s *server) events(ctx context.Context, of *sessions.Session, q sessions.Query) (
	list []sessions.Event, more bool, err error) {
	select {
	case s.work <- struct{}{}:
		defer func() { <-s.work }()
		return of.Events(ctx, q)
	case <-ctx.Done():
		return nil, false, context.Cause(ctx)
	}
}

func (s *server) page(ctx context.Context, a *pb.GetEventsArg) (*pb.Events, error) {
	of, q, length, err := s.resolve(a)
	if err != nil {
		return nil, err
	}
	q.Limit = length
	var list []sessions.Event
	var more bool
	if q.Mode == sessions.All { // the query returns after one page
		list, more, err = of.Events(ctx, q)
	} else {
		list, more, err = s.events(ctx, of, q)
	}
	if err != nil {
		return nil, err
	}
	page, _ := pageOf(list, more)
	return page, nil
}

// pages answers StreamEvents by calls of send with each page, until send fails.
func (s *server) pages(ctx context.Context, a *pb.GetEventsArg, send func(*pb.Events) error) error {
	of, q, length, err := s.resolve(a)
	if err != nil {
		return err
	}
	q.Limit = maxReduced
	if q.Mode == sessions.All {
		q.Limit = maxLimit // bounds the memory of an answer, also for short messages
	}
	for {
		all, more, err := s.events(ctx, of, q)
		if err != nil {
			return err
		}
		for list := all; ; {
			n := min(len(list), length)
			page, n := pageOf(list[:n], more || n < len(list))
			if err := send(page); err != nil {
				return err
			}
			if list = list[n:]; len(list) == 0 {
				break
			}
		}
		if !more || q.Mode != sessions.All {
			return nil
		}
		q.After = all[len(all)-1].ID
	}
}

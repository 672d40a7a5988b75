package service

import (
	"github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

// asked is the session that a question is about, the question to it, and how many events a
// message may have.
func (s *server) asked(a *profilerv1.GetEventsArg) (of *sessions.Session, q sessions.Query, length int, err error) {
	if q, length, err = query(a); err != nil {
		return nil, q, 0, err
	}
	of, err = s.recorder.Session(sessions.SessionID(a.GetSessionId()))
	return of, q, length, err
}

// page is the first of what is asked for.
func (s *server) page(a *profilerv1.GetEventsArg) (*profilerv1.Events, error) {
	of, q, length, err := s.asked(a)
	if err != nil {
		return nil, err
	}
	if q.Mode == sessions.All { // of virtual events sessions give all at once
		q.Limit = length
	}
	answer, err := of.Events(q)
	if err != nil {
		return nil, err
	}
	n := min(len(answer.List), length)
	page, _ := pageOf(answer.List[:n], answer.More || n < len(answer.List))
	return page, nil
}

// pages gives all of what is asked for, until give fails.
func (s *server) pages(a *profilerv1.GetEventsArg, give func(*profilerv1.Events) error) error {
	of, q, length, err := s.asked(a)
	if err != nil {
		return err
	}
	if q.Mode == sessions.All {
		q.Limit = maxLimit // what the memory of one answer is bounded by, however short the messages
	}
	for {
		answer, err := of.Events(q)
		if err != nil {
			return err
		}
		for list := answer.List; ; {
			n := min(len(list), length)
			page, n := pageOf(list[:n], answer.More || n < len(list))
			if err := give(page); err != nil {
				return err
			}
			if list = list[n:]; len(list) == 0 {
				break
			}
		}
		if !answer.More {
			return nil
		}
		q.After = answer.List[len(answer.List)-1].ID
	}
}

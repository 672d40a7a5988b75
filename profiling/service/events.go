package service

import (
	"github.com/perfline/perfline/profiling/service/profilerv1"
	"github.com/perfline/perfline/profiling/sessions"
)

// page is the first of what is asked for.
func (s *server) page(a *profilerv1.GetEventsArg) (*profilerv1.Events, error) {
	q, err := query(a)
	if err != nil {
		return nil, err
	}
	asked, err := s.recorder.Session(sessions.SessionID(a.GetSessionId()))
	if err != nil {
		return nil, err
	}
	answer, err := asked.Events(q)
	if err != nil {
		return nil, err
	}
	n := min(len(answer.List), q.Limit) // of virtual events Events gives all
	page, _ := pageOf(answer.List[:n], answer.More || n < len(answer.List))
	return page, nil
}

// pages gives all of what is asked for, until give fails.
func (s *server) pages(a *profilerv1.GetEventsArg, give func(*profilerv1.Events) error) error {
	q, err := query(a)
	if err != nil {
		return err
	}
	asked, err := s.recorder.Session(sessions.SessionID(a.GetSessionId()))
	if err != nil {
		return err
	}
	length := q.Limit
	q.Limit = maxLimit // however short the messages are: each query looks for its beginning
	for {
		answer, err := asked.Events(q)
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

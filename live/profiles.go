package live

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/profiling/sessions"
)

var (
	errNoSampled  = errors.New("no session has samples of this request: record a session first")
	errNoTimeline = errors.New("this session has no such timeline")

	errNoLastMinute = errors.New(
		"no profiler runs all the time: record a session, or send profiles to Pyroscope or over OTLP")
)

// ofProfile asks for a view of the profile that the parameters of a request name.
func ofProfile[T any](
	build func(*view.Profile, url.Values) (T, error),
) func(*handler, *http.Request) (maker[T], error) {
	return func(h *handler, r *http.Request) (maker[T], error) {
		query := r.URL.Query()
		load, err := h.profileOf(query)
		return func(ctx context.Context) (T, error) { return build(load(ctx), query) }, err
	}
}

func flame(p *view.Profile, _ url.Values) (view.FlameGraph, error) {
	return view.NewFlameGraph(p), nil
}

func functions(p *view.Profile, _ url.Values) (view.FunctionTable, error) {
	return view.NewFunctionTable(p), nil
}

func sandwich(p *view.Profile, query url.Values) (view.Sandwich, error) {
	return view.NewSandwich(p, query.Get("function"))
}

func (h *handler) difference(r *http.Request) (maker[view.Difference], error) {
	query := r.URL.Query()
	load, err := h.profileOf(query)
	return func(ctx context.Context) (view.Difference, error) {
		other, err := url.ParseQuery(query.Get("with"))
		if err != nil {
			return view.Difference{}, err
		}
		if query.Has("running") {
			other.Set("running", "")
		}
		loadOther, err := h.profileOf(other)
		if err != nil {
			return view.Difference{}, err
		}
		return view.NewDifference(load(ctx), loadOther(ctx)), nil
	}, err
}

// profileOf returns a function that loads the profile of some parameters:
//
//   - last=minute: the last minute, by the profiler that runs all the time. name narrows it to the
//     requests of that name.
//   - session: a session. route narrows it to the requests of a route, and timeline to a request.
//     Both are ids of timelines, because shown names may be shortened.
//   - trace and span: a request. Without session, the newest session that has samples of it.
//
// With running, it leaves out waiting goroutines.
func (h *handler) profileOf(query url.Values) (load func(context.Context) *view.Profile,
	err error) {
	loadAll, err := h.wholeProfileOf(query)
	return func(ctx context.Context) *view.Profile {
		p := loadAll()
		p.Until(ctx)
		if query.Has("running") {
			p.RemoveWaits()
		}
		return p
	}, err
}

func (h *handler) wholeProfileOf(query url.Values) (load func() *view.Profile, err error) {
	if err := h.refused(); err != nil {
		return nil, err
	}
	if query.Get("last") == "minute" {
		t := h.source.LastMinute()
		if t == nil {
			return nil, errNoLastMinute
		}
		return func() *view.Profile {
			// The samples name functions of all modules.
			p := view.OfLastMinute(h.policy.Shown(t))
			if query.Has("name") {
				p.Narrow(query.Get("name"))
			}
			return p
		}, nil
	}
	if query.Has("trace") {
		return h.profileOfRequest(query)
	}
	s, err := h.sessionWithSamples(query.Get("session"))
	if err != nil {
		return nil, err
	}
	switch {
	case query.Has("route"):
		of, err := timeline(s, query.Get("route"))
		return func() *view.Profile { return view.OfRoute(s, of) }, err
	case query.Has("timeline"):
		of, err := timeline(s, query.Get("timeline"))
		return func() *view.Profile { return view.OfTimeline(s, of) }, err
	}
	return func() *view.Profile { return view.OfSession(s) }, nil
}

func (h *handler) profileOfRequest(query url.Values) (load func() *view.Profile, err error) {
	q, err := h.find(query.Get("trace"), query.Get("span"))
	if err != nil {
		return nil, err
	}
	s := h.sampled(q).Session
	if query.Has("session") {
		if s, err = h.sessionWithSamples(query.Get("session")); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, errNoSampled
	}
	return func() *view.Profile { return view.OfRequest(q, s) }, nil
}

// sessionWithSamples returns a finished session that has samples.
func (h *handler) sessionWithSamples(id string) (*sessions.Session, error) {
	s, err := h.session(id)
	if err == nil && s.Trace() == nil {
		return nil, view.ErrNoSamples
	}
	return s, err
}

// timeline returns the timeline of an id.
func timeline(s *sessions.Session, id string) (sessions.Timeline, error) {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return sessions.Timeline{}, errNoTimeline
	}
	t, ok := s.Timeline(sessions.TimelineID(n))
	if !ok {
		return t, errNoTimeline
	}
	return t, nil
}

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

// profileView answers with a view of the profile that the parameters of a request select.
func profileView[T any](
	build func(*view.Profile, url.Values) (T, error),
) func(*handler, *http.Request) (builder[T], error) {
	return func(h *handler, r *http.Request) (builder[T], error) {
		query := r.URL.Query()
		load, err := h.selectProfile(query)
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

func (h *handler) difference(r *http.Request) (builder[view.Difference], error) {
	query := r.URL.Query()
	load, err := h.selectProfile(query)
	return func(ctx context.Context) (view.Difference, error) {
		other, err := url.ParseQuery(query.Get("with"))
		if err != nil {
			return view.Difference{}, err
		}
		if query.Has("running") {
			other.Set("running", "")
		}
		loadOther, err := h.selectProfile(other)
		if err != nil {
			return view.Difference{}, err
		}
		return view.NewDifference(load(ctx), loadOther(ctx)), nil
	}, err
}

// selectProfile returns a function that loads the profile that the parameters select:
//
//   - last=minute: the last minute of the continuous profiler; name restricts the profile to the
//     requests with this name.
//   - session: a session; route restricts the profile to the requests of a route, and timeline to
//     a request. Both are ids of timelines, because shown names may be shortened.
//   - trace and span: a request, in a session or in the newest session that sampled the request.
//
// The parameter running removes waiting goroutines.
func (h *handler) selectProfile(
	query url.Values,
) (load func(context.Context) *view.Profile, err error) {
	loadAll, err := h.selectSamples(query)
	return func(ctx context.Context) *view.Profile {
		p := loadAll()
		p.Until(ctx)
		if query.Has("running") {
			p.RemoveWaits()
		}
		return p
	}, err
}

// selectSamples is selectProfile without the parameter running.
func (h *handler) selectSamples(query url.Values) (load func() *view.Profile, err error) {
	if err := h.checkSessions(); err != nil {
		return nil, err
	}
	if query.Get("last") == "minute" {
		t := h.source.LastMinute()
		if t == nil {
			return nil, errNoLastMinute
		}
		return func() *view.Profile {
			p := view.OfLastMinute(h.policy.Shown(t)) // t has functions of all modules
			if query.Has("name") {
				p.Narrow(query.Get("name"))
			}
			return p
		}, nil
	}
	if query.Has("trace") {
		return h.selectRequest(query)
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

func (h *handler) selectRequest(query url.Values) (load func() *view.Profile, err error) {
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

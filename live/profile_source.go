package live

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

var (
	errNoRequest = errors.New(
		"this request is not kept, or no more: newer and slower ones have its place")
	errNoSampled  = errors.New("no session has samples of this request: record a session first")
	errNoTimeline = errors.New("this session has no such timeline")

	errNoLastMinute = errors.New(
		"no profiler runs all the time: record a session, or send profiles to Pyroscope or over OTLP")
)

// profileOf returns a function that loads the profile of some parameters:
//
//   - last=minute: the last minute, by the profiler that runs all the time. name narrows it to the
//     requests of that name.
//   - session: a session. route narrows it to the requests of a route, and timeline to a request.
//     Both are ids of timelines, because shown names may be shortened.
//   - trace and span: a request. Without session, the newest session that has samples of it.
func (h *handler) profileOf(query url.Values) (load func(context.Context) *profiled, err error) {
	if err := h.refused(); err != nil {
		return nil, &refusal{err}
	}
	if query.Get("last") == "minute" {
		t := h.source.LastMinute()
		if t == nil {
			return nil, errNoLastMinute
		}
		return loading(query, func() *profiled { return h.lastMinute(t, query) }), nil
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
		one, ok := timeline(s, query.Get("route"))
		if !ok {
			return nil, errNoTimeline
		}
		return loading(query, func() *profiled {
			in := func(t sessions.Timeline) bool { return t.Name == one.Name }
			title := shown(one.Name)
			if one.FrameID >= lookup.FirstRequest {
				title = "all requests " + title
			}
			return &profiled{s.Trace(), lookup.Samples(s, in), title, lookup.CountRequests(s, in),
				uint32(s.ID())}
		}), nil
	case query.Has("timeline"):
		one, ok := timeline(s, query.Get("timeline"))
		if !ok {
			return nil, errNoTimeline
		}
		return loading(query, func() *profiled {
			in := func(t sessions.Timeline) bool { return t.FrameID == one.FrameID }
			return &profiled{s.Trace(), lookup.Samples(s, in), shown(one.Name),
				lookup.CountRequests(s, in), uint32(s.ID())}
		}), nil
	}
	return loading(query, func() *profiled {
		in := func(sessions.Timeline) bool { return true }
		return &profiled{s.Trace(), slices.Values(s.Trace().Samples),
			fmt.Sprintf("session %d", s.ID()), lookup.CountRequests(s, in), uint32(s.ID())}
	}), nil
}

// loading has the samples end with the client's context.
func loading(query url.Values, load func() *profiled) func(context.Context) *profiled {
	return func(ctx context.Context) *profiled {
		p := load()
		p.samples = until(ctx, p.samples)
		if query.Has("running") {
			p.samples = withoutWaits(p.samples)
		}
		return p
	}
}

// lastMinute returns the profile of the last minute. Its samples name functions of all modules:
// those that the policy does not show are taken out.
func (h *handler) lastMinute(t *profile.Trace, query url.Values) *profiled {
	p := &profiled{trace: h.policy.Shown(t), title: "the last minute"}
	p.samples = slices.Values(p.trace.Samples)
	if query.Has("name") {
		name := query.Get("name")
		p.title = "all requests " + shown(name) + " of the last minute"
		of := make([]bool, len(p.trace.Contexts))
		for i, c := range p.trace.Contexts {
			of[i] = shown(c.SpanName) == name
		}
		samples := p.samples
		p.samples = func(yield func(profile.Sample) bool) {
			for s := range samples {
				if s.ContextID != profile.None && of[s.ContextID] && !yield(s) {
					return
				}
			}
		}
	}
	return p
}

func (h *handler) profileOfRequest(query url.Values) (load func(context.Context) *profiled,
	err error) {
	q, ok := h.find(query.Get("trace"), query.Get("span"))
	if !ok {
		return nil, errNoRequest
	}
	s, _ := h.sampled(q)
	if query.Has("session") {
		if s, err = h.sessionWithSamples(query.Get("session")); err != nil {
			return nil, err
		}
	}
	if s == nil {
		return nil, errNoSampled
	}
	return loading(query, func() *profiled {
		samples := func(yield func(profile.Sample) bool) {
			for _, sample := range requests.Samples(q, s.Trace()) {
				if !yield(sample) {
					return
				}
			}
		}
		return &profiled{s.Trace(), samples, shown(q.Root.Name), 1, uint32(s.ID())}
	}), nil
}

// sessionWithSamples returns a finished session that has samples.
func (h *handler) sessionWithSamples(id string) (*sessions.Session, error) {
	s, err := h.session(id)
	if err == nil && s.Trace() == nil {
		return nil, errNoSamples
	}
	return s, err
}

// timeline returns the timeline of an id.
func timeline(s *sessions.Session, id string) (sessions.Timeline, bool) {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return sessions.Timeline{}, false
	}
	return s.Timeline(sessions.TimelineID(n))
}

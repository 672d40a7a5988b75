package live

import (
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// flame answers with the flame graph of a session. Parameters narrow it to a request (trace and
// span), to all requests of a route, or to the frame of a timeline. A route has the id of a
// timeline of one of its requests, because shown names may be shortened. With running, it leaves out waiting goroutines.
func (h *handler) flame(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	s := h.finishedSession(w, query.Get("session"))
	if s == nil {
		return
	}
	t := s.Trace()
	if t == nil {
		refuse(w, http.StatusNotFound, errNoSamples.Error())
		return
	}
	title, samples := h.samples(s, query)
	if samples == nil {
		refuseRequest(w)
		return
	}
	if query.Has("running") {
		samples = withoutWaits(samples)
	}
	w.Header().Set("Content-Type", jsonType)
	if headOnly(w, r) {
		return
	}
	done, ok := h.working(w, r)
	if !ok {
		return
	}
	g, err := newFlameGraph(r.Context(), t, samples)
	done()
	if err != nil {
		return // the client is gone
	}
	g.Title = title
	answer(w, g)
}

// withoutWaits leaves out the samples of waiting goroutines.
func withoutWaits(samples iter.Seq[profile.Sample]) iter.Seq[profile.Sample] {
	return func(yield func(profile.Sample) bool) {
		for s := range samples {
			if s.Marker != profile.Idle && !yield(s) {
				return
			}
		}
	}
}

// samples are those that the parameters ask for; nil if there is no such request.
func (h *handler) samples(s *sessions.Session, query url.Values) (title string, samples iter.Seq[profile.Sample]) {
	switch {
	case query.Has("trace"):
		q, ok := h.find(query.Get("trace"), query.Get("span"))
		if !ok {
			return "", nil
		}
		return shown(q.Root.Name), func(yield func(profile.Sample) bool) {
			for _, sample := range q.Samples(s.Trace()) {
				if !yield(sample) {
					return
				}
			}
		}
	case query.Has("route"):
		one, ok := timeline(s, query.Get("route"))
		if !ok {
			return "", nil
		}
		return "all requests " + shown(one.Name), samplesOf(s, func(t sessions.Timeline) bool { return t.Name == one.Name })
	case query.Has("timeline"):
		frame, ok := timeline(s, query.Get("timeline"))
		if !ok {
			return "", nil
		}
		return shown(frame.Name), samplesOf(s, func(t sessions.Timeline) bool { return t.FrameID == frame.FrameID })
	}
	return fmt.Sprintf("session %d", s.ID()), slices.Values(s.Trace().Samples)
}

// timeline returns the timeline of an id.
func timeline(s *sessions.Session, id string) (sessions.Timeline, bool) {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return sessions.Timeline{}, false
	}
	return s.Timeline(sessions.TimelineID(n))
}

// samplesOf returns the samples of the timelines for which in returns true.
func samplesOf(s *sessions.Session, in func(sessions.Timeline) bool) iter.Seq[profile.Sample] {
	return func(yield func(profile.Sample) bool) {
		for i := range s.NumTimelines() {
			t, _ := s.Timeline(sessions.TimelineID(i + 1))
			if !in(t) {
				continue
			}
			for sample := range s.Samples(t.ID) {
				if !yield(sample) {
					return
				}
			}
		}
	}
}

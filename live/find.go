package live

import (
	"slices"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/profiling/sessions"
)

// The page keeps the requests that it listed last, in encoded form: a busy service ends more
// requests in a second than requests.Recent keeps, and the links of the list must still work.
const (
	maxListed     = 256     // requests listed last: all requests of one paused page
	maxOpened     = 64      // requests opened last, so that users can pass links on
	maxCacheBytes = 4 << 20 // of each of the two caches
)

// find returns the request with these ids, with its waits.
func (h *handler) find(traceID, spanID string) (requests.Request, error) {
	s, err := h.snapshot(traceID, spanID)
	if err != nil {
		return requests.Request{}, err
	}
	return h.withWaits(s), nil
}

func (h *handler) snapshot(traceID, spanID string) (requests.Snapshot, error) {
	id, err := lookup.ParseID(traceID, spanID)
	if err != nil {
		return requests.Snapshot{}, errNoRequest
	}
	s, ok := h.snapshotOf(id)
	if !ok {
		return s, errNoRequest
	}
	return s, nil
}

func (h *handler) snapshotOf(id local.ID) (s requests.Snapshot, ok bool) {
	s, ok = h.recent().Snapshot(id.Trace, id.Span) // first, for spans that arrived since
	if !ok {
		s, ok = h.listed.Get(id)
	}
	if !ok {
		s, ok = h.opened.Get(id)
	}
	if !ok {
		s, ok = h.died(id)
	}
	return s, ok
}

// has reports whether the page can show a request.
func (h *handler) has(id local.ID) bool {
	_, ok := h.snapshotOf(id)
	return ok
}

func (h *handler) recent() *requests.Recent { return (*requests.Recent)(h.source.Recent()) }

// sampled returns a request with the newest session that sampled the request. The result has no
// session without such a session, or if clients may not see sessions.
func (h *handler) sampled(q requests.Request) view.SampledRequest {
	if h.checkSessions() != nil {
		return view.SampledRequest{Request: q}
	}
	for _, status := range slices.Backward(h.recorder.Statuses()) {
		if status.State != sessions.Ready || q.Root.End.Before(status.Started) {
			continue
		}
		s, err := h.recorder.RemoteSession(status.ID)
		if err != nil || s.Trace() == nil || q.Root.Start.After(s.Started().Add(s.Length())) {
			continue
		}
		hottest := requests.SpanProfiles(q, s.Trace())
		if len(hottest) > 0 || requests.Contradictions(q, s.Trace()) > 0 {
			return view.SampledRequest{Request: q, Session: s, Hottest: hottest}
		}
	}
	return view.SampledRequest{Request: q}
}

package live

import (
	"slices"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live/internal/view"
	"github.com/perfline/perfline/profiling/sessions"
)

// The page keeps the requests that it listed, in encoded form, after requests.Recent has newer
// ones. A busy service ends more requests in a second than Recent keeps, and the list's links must
// still work.
const (
	maxListed = 256     // of those listed last: of a paused page all, if no other page is open
	maxOpened = 64      // of those opened last, so that their links can be passed on
	maxHeld   = 4 << 20 // bytes of the listed ones, and of the opened ones
)

// find returns the request with these ids, and with what an execution trace has of it.
func (h *handler) find(traceID, spanID string) (requests.Request, error) {
	s, err := h.snapshot(traceID, spanID)
	if err != nil {
		return requests.Request{}, err
	}
	return h.waits.With(s.Request()), nil
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
	s, ok = h.recent().Snapshot(id.Trace, id.Span) // which may have got spans meanwhile
	if !ok {
		s, ok = h.listed.Get(id)
	}
	if !ok {
		s, ok = h.opened.Get(id)
	}
	return s, ok
}

// has reports whether the page has a request.
func (h *handler) has(id local.ID) bool {
	_, ok := h.snapshotOf(id)
	return ok
}

// recent returns the requests in memory.
func (h *handler) recent() *requests.Recent { return (*requests.Recent)(h.source.Recent()) }

// sampled returns a request with the newest session that has samples of it. The result has no
// session if there is none, or if the client may not see it.
func (h *handler) sampled(q requests.Request) view.SampledRequest {
	if h.refused() != nil {
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

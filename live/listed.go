package live

import (
	"github.com/perfline/perfline/internal/lookup"
	"github.com/perfline/perfline/internal/requests"
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
func (h *handler) find(traceID, spanID string) (requests.Request, bool) {
	s, ok := h.snapshot(traceID, spanID)
	if !ok {
		return requests.Request{}, false
	}
	return h.waits.With(s.Request()), true
}

func (h *handler) snapshot(traceID, spanID string) (s requests.Snapshot, ok bool) {
	id, err := lookup.ParseID(traceID, spanID)
	if err != nil {
		return s, false
	}
	s, ok = h.recent().Snapshot(id.Trace, id.Span) // which may have got spans meanwhile
	if !ok {
		s, ok = h.listed.Get(id)
	}
	if !ok {
		s, ok = h.opened.Get(id)
	}
	return s, ok
}

// recent returns the requests in memory.
func (h *handler) recent() *requests.Recent { return (*requests.Recent)(h.source.Recent()) }

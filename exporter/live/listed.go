package live

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/requests"
)

// The page keeps the requests that it listed, in encoded form, after requests.Recent has newer ones. A busy service ends
// more requests in a second than Recent keeps, and the list's links must still work.
const (
	maxListed = 256     // of those listed last: of a paused page all, if no other page is open
	maxOpened = 64      // of those opened last, so that their links can be passed on
	maxHeld   = 4 << 20 // bytes of the listed ones, and of the opened ones
)

// listedRequests holds the requests that were listed last.
type listedRequests struct {
	most, mostBytes int

	mu       sync.Mutex // guards what follows
	requests map[requestID]requests.Snapshot
	order    []requestID
	bytes    int
}

type requestID struct {
	trace trace.TraceID
	root  trace.SpanID
}

func idOf(s requests.Snapshot) requestID { return requestID{s.TraceID, s.SpanID} }

func newHeld(most, mostBytes int) *listedRequests {
	return &listedRequests{most: most, mostBytes: mostBytes, requests: map[requestID]requests.Snapshot{}}
}

func (h *listedRequests) get(id requestID) (requests.Snapshot, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.requests[id]
	return s, ok
}

// all returns the requests, the last one first.
func (h *listedRequests) all() []requests.Snapshot {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]requests.Snapshot, 0, len(h.order))
	for _, id := range slices.Backward(h.order) {
		all = append(all, h.requests[id])
	}
	return all
}

// add makes s the last one.
func (h *listedRequests) add(s requests.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.put(s)
}

// addNew adds those that are not there. The first becomes the last one.
func (h *listedRequests) addNew(all []requests.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range slices.Backward(all) {
		if _, known := h.requests[idOf(s)]; !known {
			h.put(s)
		}
	}
}

// put adds s and lets go of the oldest. h.mu is held.
func (h *listedRequests) put(s requests.Snapshot) {
	id := idOf(s)
	if before, known := h.requests[id]; known {
		h.order = slices.DeleteFunc(h.order, func(o requestID) bool { return o == id })
		h.bytes -= before.Bytes()
	}
	h.requests[id] = s
	h.order = append(h.order, id)
	h.bytes += s.Bytes()
	for len(h.order) > h.most || h.bytes > h.mostBytes {
		oldest := h.order[0]
		h.bytes -= h.requests[oldest].Bytes()
		delete(h.requests, oldest)
		h.order = h.order[1:]
	}
}

// find returns the request with these ids, and with what an execution trace has of it.
func (h *handler) find(traceID, spanID string) (requests.Request, bool) {
	s, ok := h.snapshot(traceID, spanID)
	if !ok {
		return requests.Request{}, false
	}
	return h.withStates(s.Request()), true
}

func (h *handler) snapshot(traceID, spanID string) (s requests.Snapshot, ok bool) {
	id, err := parseID(traceID, spanID)
	if err != nil {
		return s, false
	}
	s, ok = h.source.Recent().Snapshot(id.trace, id.root) // which may have got spans meanwhile
	if !ok {
		s, ok = h.listed.get(id)
	}
	if !ok {
		s, ok = h.opened.get(id)
	}
	return s, ok
}

func parseID(traceID, spanID string) (id requestID, err error) {
	if id.trace, err = trace.TraceIDFromHex(traceID); err != nil {
		return id, err
	}
	id.root, err = trace.SpanIDFromHex(spanID)
	return id, err
}

package live

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/requests"
)

// How many requests stay to be seen when requests.Recent has others: a busy service ends
// more of them in a second than that keeps, and a list whose links lead nowhere is of no use.
const (
	maxListed = 256 // of those listed last: of a paused page all, as long as nobody else looks
	maxOpened = 64  // of those opened last, so that their links can be passed on
)

// held are the requests that were added last.
type held struct {
	most int

	mu       sync.Mutex // guards what follows
	requests map[requestID]requests.Request
	order    []requestID
}

type requestID struct {
	trace trace.TraceID
	root  trace.SpanID
}

func newHeld(most int) *held { return &held{most: most, requests: map[requestID]requests.Request{}} }

func (h *held) get(id requestID) (requests.Request, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	q, ok := h.requests[id]
	return q, ok
}

// add makes it the last one.
func (h *held) add(id requestID, q requests.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, known := h.requests[id]; known {
		h.order = slices.DeleteFunc(h.order, func(o requestID) bool { return o == id })
	}
	h.requests[id] = q
	h.order = append(h.order, id)
	if len(h.order) > h.most {
		delete(h.requests, h.order[0])
		h.order = h.order[1:]
	}
}

// list holds what a list has.
func (h *handler) list(rows []requestRow) {
	for _, r := range slices.Backward(rows) { // the newest last
		id, err := parseID(r.Trace, r.Span)
		if err != nil {
			continue
		}
		if _, known := h.listed.get(id); known {
			continue
		}
		if q, ok := h.source.Recent().Request(id.trace, id.root); ok {
			h.listed.add(id, q)
		}
	}
}

// find is the request that is asked for by its ids.
func (h *handler) find(traceID, spanID string) (requests.Request, bool) {
	id, err := parseID(traceID, spanID)
	if err != nil {
		return requests.Request{}, false
	}
	q, ok := h.source.Recent().Request(id.trace, id.root) // which may have got spans meanwhile
	if !ok {
		q, ok = h.listed.get(id)
	}
	if !ok {
		q, ok = h.opened.get(id)
	}
	return q, ok
}

func parseID(traceID, spanID string) (id requestID, err error) {
	if id.trace, err = trace.TraceIDFromHex(traceID); err != nil {
		return id, err
	}
	id.root, err = trace.SpanIDFromHex(spanID)
	return id, err
}

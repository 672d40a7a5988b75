package mcpserver

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
)

// The tools keep the requests that they named last, in encoded form. A busy service ends more
// requests in a second than requests.Recent keeps, and an agent takes seconds for its next call.
const (
	maxListed      = 256
	maxListedBytes = 4 << 20
)

// find returns the request with an id: of its root span, or of its trace.
func (s *server) find(id string) (requests.Snapshot, *refusal) {
	is, ok := parseID(id)
	if !ok {
		return requests.Snapshot{},
			refuse("request %s: must be an id from list_requests: 16 hexadecimal digits, or 32 of a trace", id).
				or(toolListRequests, struct{}{}, "ids of requests")
	}
	for _, known := range s.inMemory() {
		if is(known) {
			s.listed.Add(known)
			return known, nil
		}
	}
	return requests.Snapshot{},
		refuse("request %s: it is no longer in memory: only the most recent and the slowest requests are", id).
			or(toolListRequests, struct{}{}, "requests that are in memory")
}

// inMemory returns the requests and background units in memory. One may come twice.
func (s *server) inMemory() []requests.Snapshot {
	return slices.Concat(s.recent().All(), s.listed.All())
}

// parseID returns a function that recognizes the request of an id.
func parseID(id string) (is func(requests.Snapshot) bool, ok bool) {
	if root, err := trace.SpanIDFromHex(id); err == nil {
		return func(s requests.Snapshot) bool { return s.SpanID == root }, true
	}
	if of, err := trace.TraceIDFromHex(id); err == nil {
		return func(s requests.Snapshot) bool { return s.TraceID == of }, true
	}
	return nil, false
}

// recent returns the requests in memory.
func (s *server) recent() *requests.Recent { return (*requests.Recent)(s.source.Recent()) }

package mcpserver

import (
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
)

// The tools keep the requests that they named last, in encoded form: a busy service ends more
// requests in a second than requests.Recent keeps, and an agent's next call comes seconds later.
const (
	maxListed      = 256
	maxListedBytes = 4 << 20
)

// find returns the request with the id of its root span or of its trace. The request may have been
// open when an earlier process died.
func (s *server) find(id string) (requests.Snapshot, error) {
	matches, ok := parseID(id)
	if !ok {
		return requests.Snapshot{},
			refuse("request %s: must be an id from list_requests: 16 hexadecimal digits, or 32 of a trace", id).
				or(toolListRequests, struct{}{}, "ids of requests")
	}
	for _, known := range s.inMemory() {
		if matches(known) {
			s.listed.Add(known)
			return known, nil
		}
	}
	if _, open := s.openAtDeath(matches); open != nil {
		return open.Snapshot, nil
	}
	return requests.Snapshot{},
		refuse("request %s: it is no longer in memory: only the most recent and the slowest requests are", id).
			or(toolListRequests, struct{}{}, "requests that are in memory")
}

// inMemory returns the requests and background units in memory, some of them twice.
func (s *server) inMemory() []requests.Snapshot {
	return slices.Concat(s.recent().All(), s.listed.All())
}

// parseID returns a function that reports whether a request matches an id.
func parseID(id string) (matches func(requests.Snapshot) bool, ok bool) {
	if root, err := trace.SpanIDFromHex(id); err == nil {
		return func(s requests.Snapshot) bool { return s.SpanID == root }, true
	}
	if traceID, err := trace.TraceIDFromHex(id); err == nil {
		return func(s requests.Snapshot) bool { return s.TraceID == traceID }, true
	}
	return nil, false
}

func (s *server) recent() *requests.Recent { return (*requests.Recent)(s.source.Recent()) }

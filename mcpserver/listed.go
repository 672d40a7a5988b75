package mcpserver

import (
	"iter"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/requests"
)

// The tools keep the requests that they named last, in encoded form. A busy service ends more requests in a second than requests.Recent
// keeps, and an agent takes seconds for its next call.
const (
	maxListed      = 256
	maxListedBytes = 4 << 20
)

// listed has the requests that answers named last, the newest at the end.
type listed struct {
	mu    sync.Mutex // guards what follows
	all   []requests.Snapshot
	bytes int
}

func newListed() *listed { return new(listed) }

// snapshots returns the requests, the one named last first.
func (l *listed) snapshots() []requests.Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]requests.Snapshot, 0, len(l.all))
	for i := range l.all {
		all = append(all, l.all[len(l.all)-1-i])
	}
	return all
}

// add makes s the last one, and lets go of the oldest.
func (l *listed) add(s requests.Snapshot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, known := range l.all {
		if same(known, s) {
			l.bytes -= known.Bytes()
			l.all = append(l.all[:i], l.all[i+1:]...)
			break
		}
	}
	l.all = append(l.all, s)
	l.bytes += s.Bytes()
	for len(l.all) > maxListed || l.bytes > maxListedBytes && len(l.all) > 1 {
		l.bytes -= l.all[0].Bytes()
		l.all[0] = requests.Snapshot{}
		l.all = l.all[1:]
	}
}

func same(a, b requests.Snapshot) bool { return a.TraceID == b.TraceID && a.SpanID == b.SpanID }

// find returns the request with an id: of its root span, or of its trace.
func (s *server) find(id string) (requests.Snapshot, *refusal) {
	is, ok := parseID(id)
	if !ok {
		return requests.Snapshot{}, refuse("request %s: must be an id from list_requests: 16 hexadecimal digits, or 32 of a trace", id).
			or(toolListRequests, struct{}{}, "ids of requests")
	}
	for known := range s.inMemory() {
		if is(known) {
			s.listed.add(known)
			return known, nil
		}
	}
	return requests.Snapshot{}, refuse("request %s: it is no longer in memory: only the most recent and the slowest requests are", id).
		or(toolListRequests, struct{}{}, "requests that are in memory")
}

// inMemory yields the requests and background units in memory. One may come twice.
func (s *server) inMemory() iter.Seq[requests.Snapshot] {
	recent := s.source.Recent()
	newest, slowest := recent.Snapshots()
	all := slices.Concat(newest, slowest, recent.KeptRequests(), recent.Examples(), recent.Background(), s.listed.snapshots())
	return slices.Values(all)
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

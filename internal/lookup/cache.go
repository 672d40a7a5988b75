package lookup

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
)

// ParseID returns the id of a request from the hexadecimal digits of its trace and of its root
// span.
func ParseID(traceID, spanID string) (id local.ID, err error) {
	if id.Trace, err = trace.TraceIDFromHex(traceID); err != nil {
		return id, err
	}
	id.Span, err = trace.SpanIDFromHex(spanID)
	return id, err
}

// A Cache has the requests that clients saw last, in encoded form. A busy service ends more
// requests in a second than requests.Recent keeps, and a client opens a request of a list seconds
// later. The requests have memory of their own. Its methods may be called concurrently.
type Cache struct {
	most, mostBytes int

	mu       sync.Mutex // guards what follows
	requests map[local.ID]requests.Snapshot
	order    []local.ID // the request that was added last is at the end
	bytes    int
}

// NewCache returns a cache of at most so many requests, with at most so many bytes together.
func NewCache(most, mostBytes int) *Cache {
	return &Cache{most: most, mostBytes: mostBytes, requests: map[local.ID]requests.Snapshot{}}
}

// Get returns a request.
func (c *Cache) Get(id local.ID) (requests.Snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.requests[id]
	return s, ok
}

// All returns the requests, the last one first.
func (c *Cache) All() []requests.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]requests.Snapshot, 0, len(c.order))
	for _, id := range slices.Backward(c.order) {
		all = append(all, c.requests[id])
	}
	return all
}

// Add makes s the last request.
func (c *Cache) Add(s requests.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(s)
}

// AddNew adds the requests that the cache does not have. The first of them becomes the last
// request.
func (c *Cache) AddNew(all []requests.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range slices.Backward(all) {
		if _, known := c.requests[s.ID()]; !known {
			c.put(s)
		}
	}
}

// put adds s and lets go of the oldest requests, unless s has too many bytes for all of them. c.mu
// is held.
func (c *Cache) put(s requests.Snapshot) {
	if s.Bytes() > c.mostBytes {
		return
	}
	id := s.ID()
	if before, known := c.requests[id]; known {
		c.order = slices.DeleteFunc(c.order, func(o local.ID) bool { return o == id })
		c.bytes -= before.Bytes()
	}
	c.requests[id] = s.Clone()
	c.order = append(c.order, id)
	c.bytes += s.Bytes()
	for len(c.order) > c.most || c.bytes > c.mostBytes {
		oldest := c.order[0]
		c.bytes -= c.requests[oldest].Bytes()
		delete(c.requests, oldest)
		c.order = c.order[1:]
	}
}

package lookup

import (
	"slices"
	"sync"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
)

// ParseID returns the id of a request. traceID and spanID are the hexadecimal ids of the trace and
// of the root span.
func ParseID(traceID, spanID string) (id local.ID, err error) {
	if id.Trace, err = trace.TraceIDFromHex(traceID); err != nil {
		return id, err
	}
	id.Span, err = trace.SpanIDFromHex(spanID)
	return id, err
}

// A Cache stores encoded copies of the requests that clients read most recently. Therefore a client
// can still open a listed request some seconds later. On a busy service, requests.Recent may drop
// such a request within a second. All methods may be called concurrently.
type Cache struct {
	most, mostBytes int

	mu       sync.Mutex // guards the fields below
	requests map[local.ID]requests.Snapshot
	order    []local.ID // the latest request is at the end
	bytes    int
}

// NewCache returns an empty cache. The parameter most is the largest number of requests. The
// parameter mostBytes is the largest total size of the requests in bytes.
func NewCache(most, mostBytes int) *Cache {
	return &Cache{most: most, mostBytes: mostBytes, requests: map[local.ID]requests.Snapshot{}}
}

// Get returns the request with the given id, or false if the cache does not contain the request.
func (c *Cache) Get(id local.ID) (requests.Snapshot, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.requests[id]
	return s, ok
}

// All returns all requests in the cache, the latest request first.
func (c *Cache) All() []requests.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]requests.Snapshot, 0, len(c.order))
	for _, id := range slices.Backward(c.order) {
		all = append(all, c.requests[id])
	}
	return all
}

// Add stores s as the latest request, and removes the oldest requests beyond the limits. If s alone
// exceeds the limit of bytes, Add ignores s.
func (c *Cache) Add(s requests.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(s)
}

// AddNew adds each request in the list all that the cache does not contain. The first added request
// of the list becomes the latest request.
func (c *Cache) AddNew(all []requests.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range slices.Backward(all) {
		if _, known := c.requests[s.ID()]; !known {
			c.put(s)
		}
	}
}

// put adds s and removes the oldest requests over the bounds. It drops s if s alone exceeds
// mostBytes. c.mu is held.
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

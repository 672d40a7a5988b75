package requests

import (
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/waits"
)

// Config bounds the requests in memory.
type Config struct {
	Newest   int // requests that ended last; 0 means 64, negative none
	Slowest  int // slowest requests of the last hour; 0 means 8, negative none
	Kept     int // newest requests that the keep policy kept; 0 means 128, negative none
	MaxSpans int // of one trace; 0 means 512

	// MaxBytes bounds the memory of all spans, of requests and in the background, in bytes; 0 means
	// 16 MiB. One trace uses at most a sixteenth, and the requests that the policy kept use at most
	// half. Beyond a bound, the store removes the oldest request. Spans of the newest requests
	// share blocks of 16 KiB with other spans; the blocks do not count.
	MaxBytes int
}

// A Store holds the requests in memory. perfline.Start makes it. Methods may be called
// concurrently, and see each request that ended before the call.
type Store requests.Recent

// Newest returns the requests that ended last, the newest first.
func (s *Store) Newest() []Request { return list((*requests.Recent)(s).Requests()) }

// Slowest returns the slowest requests of the last hour, except streams, the slowest first.
func (s *Store) Slowest() []Request { return list((*requests.Recent)(s).Slowest()) }

// Kept returns the requests that the keep policy kept, the newest first.
func (s *Store) Kept() []Request { return list((*requests.Recent)(s).KeptRequests()) }

// Find returns the request with this trace and this local root. ok is false if the request is not
// in memory.
func (s *Store) Find(id trace.TraceID, root trace.SpanID) (q Request, ok bool) {
	q.snapshot, ok = (*requests.Recent)(s).Snapshot(id, root)
	return q, ok
}

// A Request is a snapshot of a request. It does not change. Reading it decodes its spans. A Request
// keeps memory of other requests from being freed: do not hold many for long. The zero Request
// contains nothing.
type Request struct {
	snapshot requests.Snapshot
	waits    *waits.Request
}

func list(all []requests.Snapshot) []Request {
	requests := make([]Request, len(all))
	for i, s := range all {
		requests[i].snapshot = s
	}
	return requests
}

// Root returns the end of the request's local root.
func (q Request) Root() bridge.Root { return q.snapshot.PublicRoot() }

// WithWaits returns the request with its waits, the result of a [waits.Recorder]. w may be nil.
func (q Request) WithWaits(w *waits.Request) Request {
	q.waits = w
	return q
}

// decode returns an error for the zero Request.
func (q Request) decode() (d requests.Request, err error) {
	if !q.snapshot.TraceID.IsValid() {
		return d, errors.New("requests: the zero Request has nothing to write: Find returned false")
	}
	d = q.snapshot.Request()
	d.Waits = q.waits
	return d, nil
}

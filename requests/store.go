package requests

import (
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/waits"
)

// Config limits the requests that a [Store] keeps in memory.
type Config struct {
	Newest  int // requests that ended last, and as many streams; 0 means 64, negative none
	Slowest int // slowest requests of the last hour; 0 means 8, negative none

	// MaxSpans is the number of spans of one trace; 0 means 512. The spans that end first stay.
	// Spans above these spans, and local roots, may use a quarter more. When they need further
	// places, the shortest spans without children leave the trace.
	MaxSpans int

	// Kept is the number of the newest requests that the keep policy kept. 0 means 128, and a
	// negative value means none. Requests with only an error inside do not count. The store has a
	// quarter as many places for these requests, but at least one.
	Kept int

	// MaxBytes limits the memory of all spans, in bytes. The spans of requests and the spans of
	// background work count. 0 means 16 MiB. One trace uses at most a sixteenth of MaxBytes, and a
	// quarter of this more in the way of MaxSpans. The requests that the keep policy kept use at
	// most half, and requests with only an error inside an eighth. If a limit is exceeded, the
	// store removes the oldest request.
	//
	// Spans of the newest requests share blocks of 16 KiB with other spans. MaxBytes does not limit
	// the memory of these blocks.
	MaxBytes int
}

// A Store keeps recent requests in memory. perfline.Start creates the Store. Methods may be called
// concurrently. Each method reads all requests that ended before the call.
type Store requests.Recent

// Newest returns the requests that ended most recently. The newest request is the first element.
func (s *Store) Newest() []Request { return list((*requests.Recent)(s).Requests()) }

// Slowest returns the slowest requests of the last hour. The slowest request is the first element.
// Slowest omits streams, such as websockets and server-sent events.
func (s *Store) Slowest() []Request { return list((*requests.Recent)(s).Slowest()) }

// Kept returns the requests that the program's [bridge.KeepPolicy] kept. The newest request is the
// first element.
func (s *Store) Kept() []Request { return list((*requests.Recent)(s).KeptRequests()) }

// Find returns the request with the given trace id and local root. The parameter root is the span
// id of the local root, the request's top span in this process. ok is false if the request is not
// in memory.
func (s *Store) Find(id trace.TraceID, root trace.SpanID) (q Request, ok bool) {
	q.snapshot, ok = (*requests.Recent)(s).Snapshot(id, root)
	return q, ok
}

// A Request is an immutable snapshot of a request. Each call that writes a Request decodes the
// request's spans. Do not store many Requests for long, because a Request also retains memory of
// other requests. The zero Request is empty.
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

// Root returns the name, the times and the status of the ended local root span. The local root is
// the top span of the request in this process.
func (q Request) Root() bridge.Root { return q.snapshot.PublicRoot() }

// WithWaits returns a copy of q that also contains w, the waits of the request's goroutines. A
// [waits.Recorder] records w. w may be nil.
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

package requests

import (
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/waits"
)

// Config says how many requests stay in memory. The zero value has the numbers that are named here.
type Config struct {
	Newest  int // requests that ended last; 0 means 64, negative none
	Slowest int // slowest requests of the last hour, as well; 0 means 8, negative none
	Kept    int // newest requests that the keep policy kept, as well; 0 means 128, negative none
	// first requests of each cell of the heat maps, as well; 0 means 256, negative none
	Examples int
	MaxSpans int // spans kept of one trace; 0 means 512

	// MaxBytes is the memory for the spans of all requests and of what runs in the background, in
	// bytes; 0 means 16 MiB. One trace gets a sixteenth of it at most. Half of it is for the
	// requests that the policy kept. Beyond a bound the oldest request goes. Spans of the newest
	// requests lie in blocks of 16 KiB with other spans; the blocks do not count.
	MaxBytes int
}

// A Store has requests in memory; perfline.Start makes it. Its methods may be called concurrently,
// and see each request that ended before the call.
type Store requests.Recent

// Newest returns the requests that ended last, the newest first.
func (s *Store) Newest() []Request { return of((*requests.Recent)(s).Requests()) }

// Slowest returns the slowest requests of the last hour, the slowest first. Streams are not among
// them.
func (s *Store) Slowest() []Request { return of((*requests.Recent)(s).Slowest()) }

// Kept returns the requests that the keep policy kept, the newest first.
func (s *Store) Kept() []Request { return of((*requests.Recent)(s).KeptRequests()) }

// Find returns the request with this trace and this local root. It returns false if the request is
// not in memory, or no more.
func (s *Store) Find(id trace.TraceID, root trace.SpanID) (q Request, ok bool) {
	q.snapshot, ok = (*requests.Recent)(s).Snapshot(id, root)
	return q, ok
}

// A Request is a request at one moment. It does not change; its spans are decoded when they are
// read. It keeps memory that other requests have in common with it: do not hold many for long. The
// zero Request is none.
type Request struct {
	snapshot requests.Snapshot
	waits    *waits.Request
}

func of(all []requests.Snapshot) []Request {
	list := make([]Request, len(all))
	for i, s := range all {
		list[i].snapshot = s
	}
	return list
}

// Root returns how the request ended.
func (q Request) Root() bridge.Root { return q.snapshot.PublicRoot() }

// WithWaits returns the request with what it waited for, as [waits.Recorder] found out. w may be
// nil.
func (q Request) WithWaits(w *waits.Request) Request {
	q.waits = w
	return q
}

// decoded returns an error for the zero Request.
func (q Request) decoded() (d requests.Request, err error) {
	if !q.snapshot.TraceID.IsValid() {
		return d, errors.New("requests: the zero Request has nothing to write: Find returned false")
	}
	d = q.snapshot.Request()
	d.Waits = q.waits
	return d, nil
}

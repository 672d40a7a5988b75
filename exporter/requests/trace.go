package requests

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// A traceData has the spans of a trace in memory.
type traceData struct {
	id       trace.TraceID
	spans    []byte
	parts    []part
	count    int        // of spans
	shared   bool       // a reader has spans and parts: no other trace gets them
	dropped  int        // spans
	requests int        // that ended
	waiting  *request   // in Recent.waiting, until a request ends
	users    int        // requests in memory, and one while spans are added
	next     *traceData // in the index
}

// A part begins where the spans have another group than those before. Readers share it, so it does not change.
type part struct {
	group *otlpenc.Group
	start int // in the spans
}

// partBytes is what a part counts in Config.MaxBytes. In a program that makes tracers without end, a part keeps a group in
// memory that nothing else has.
const partBytes = 256

func (t *traceData) bytes() int { return cap(t.spans) + len(t.parts)*partBytes }

// A request is one in memory, or a trace that waits for one to end.
type request struct {
	root
	trace        *traceData
	group        *otlpenc.Group // of the root
	own          []byte         // the root, if the trace had no room for it
	example      exampleOf      // if Recent.examples has it
	lists        int            // that have the request
	arrival      uint64
	older, newer *request // in Recent.newest, Recent.others or Recent.waiting
}

// add adds a run. r.mu is held.
func (r *Recent) add(n *run) {
	t := r.traces.find(n.trace)
	if t == nil {
		t = r.freeTraces.take()
		t.id = n.trace
		r.traces.add(t)
	}
	t.users++ // it stays while others go
	defer r.leave(t)
	if n.isRoot && len(n.spans.Bytes)+partBytes <= r.share {
		r.makeRoom(n, 1) // first: the request gets its memory, which is then in this processor's cache
	}
	var own []byte
	start, size, ok := len(t.spans), len(n.spans.Bytes)+partBytes, true
	switch {
	case r.write(t, n.spans):
		n.at += start
	case n.spans.Count > 1: // there may be room for some of them
		var one run
		for rest := n.spans; len(rest.Bytes) > 0; rest.Bytes = rest.Bytes[len(one.spans.Bytes):] {
			one.read(rest, 1)
			r.add(&one)
		}
		return
	case n.isRoot && size <= r.share && r.reserve(size, t):
		own = slices.Clone(n.spans.Bytes)
	default:
		ok = false
		t.dropped++
		r.stats.SpansDropped++
	}
	if !n.isRoot {
		if t.requests == 0 && t.waiting == nil {
			r.wait(t)
		}
		return
	}
	if n.isRequest {
		r.stats.Requests++
	} else {
		r.stats.Background++
	}
	t.requests++
	t.dropped += int(n.spans.Refused)
	r.stopWaiting(t)
	if ok {
		r.keep(t, n, own)
	} else {
		r.stats.Evicted++
	}
}

// write appends spans to their trace. It returns false if they exceed its limits, or if memory has no room.
func (r *Recent) write(t *traceData, s otlpenc.Spans) bool {
	size, more := len(t.spans)+len(s.Bytes), 0
	last := len(t.parts) - 1
	begins := last < 0 || t.parts[last].group != s.Group
	if begins {
		more = partBytes
	}
	if t.count+s.Count > r.c.MaxSpans || size+len(t.parts)*partBytes+more > r.share {
		return false
	}
	grows := size > cap(t.spans)
	if grows {
		capacity, _ := bufferSize(size)
		more += capacity - cap(t.spans)
	}
	if !r.reserve(more, t) {
		return false
	}
	if grows {
		spans := append(r.buffers.take(size), t.spans...)
		if !t.shared {
			r.buffers.put(t.spans)
		}
		t.spans = spans
	}
	if begins {
		t.parts = append(t.parts, part{s.Group, len(t.spans)})
	}
	t.spans = append(t.spans, s.Bytes...)
	t.count += s.Count
	return true
}

// reserve counts n bytes more, for which others may have to go. It returns false if none are left. Trace t stays, but not
// its requests.
func (r *Recent) reserve(n int, t *traceData) bool {
	for int(r.stats.Bytes)+n > r.c.MaxBytes {
		if !r.letGo(t) {
			return false
		}
	}
	r.stats.Bytes += uint64(n)
	return true
}

// letGo lets go of the oldest, but for trace t. It returns false if there is nothing.
func (r *Recent) letGo(t *traceData) bool {
	w := r.waiting.oldest
	if w != nil && w.trace == t {
		w = w.newer
	}
	from := &r.newest
	if older(r.others.oldest, r.newest.oldest) {
		from = &r.others
	}
	q := from.oldest
	switch example := r.examples.oldest; {
	case older(example, w) && older(example, q):
		q = r.examples.pop()
		r.stats.ExamplesEvicted++
	case older(w, q):
		r.abandon(w.trace)
		return true
	case q != nil:
		from.remove(q)
	case len(r.keptRequests) > 0:
		q = r.oldestKept()
		r.stats.KeptEvicted++
	case len(r.slowest) > 0:
		q = r.fastest()
	default:
		return false
	}
	if r.release(q) {
		r.stats.Evicted++
	}
	return true
}

// older reports whether a arrived before b. Without a request there is nothing older.
func older(a, b *request) bool { return a != nil && (b == nil || a.arrival < b.arrival) }

// keep adds the root that a run ends to its lists, and lets go of those it displaces.
func (r *Recent) keep(t *traceData, n *run, own []byte) {
	q := r.request(t)
	q.root, q.group, q.own = n.root, n.spans.Group, own
	r.listOf(n).push(q)
	if n.isRequest {
		r.rank(q, n)
		r.exemplify(q, n)
	}
	if n.isRequest && n.reason != otlpenc.NotKept {
		r.keepLonger(q)
	}
	r.makeRoom(n, 0)
}

// keepLonger adds a request to those that a policy kept, and lets go of those it displaces.
func (r *Recent) keepLonger(q *request) {
	r.stats.KeptRequests++
	if r.c.KeptRequests == 0 {
		return
	}
	q.lists++
	r.keptRequests = append(r.keptRequests, q)
	if len(r.keptRequests) > r.c.KeptRequests {
		r.release(r.oldestKept())
	}
	size := 0
	for _, q := range slices.Backward(r.keptRequests) {
		size += q.trace.bytes() + len(q.own)
	}
	for size > r.c.MaxBytes/2 && len(r.keptRequests) > 1 {
		old := r.oldestKept()
		size -= old.trace.bytes() + len(old.own)
		r.release(old)
		r.stats.KeptEvicted++
	}
}

// oldestKept takes the oldest request from those that a policy kept.
func (r *Recent) oldestKept() *request {
	q := r.keptRequests[0]
	r.keptRequests = slices.Delete(r.keptRequests, 0, 1)
	return q
}

// maxSlowestAge is how long a request is among the slowest.
const maxSlowestAge = time.Hour

// rank adds the request that a run ends to the slowest, if it is slow enough.
func (r *Recent) rank(q *request, n *run) {
	if q.end.Sub(r.slowestSince) > maxSlowestAge && !n.isStream() {
		r.dropOldFromSlowest(q.end)
	}
	at := len(r.slowest) // of the newer ones that took as long, the last comes first
	for at > 0 && r.slowest[at-1].took <= q.took {
		at--
	}
	if at == r.c.Slowest || n.isStream() {
		return
	}
	if len(r.slowest) == 0 || q.end.Before(r.slowestSince) {
		r.slowestSince = q.end
	}
	q.lists++
	r.slowest = slices.Insert(r.slowest, at, q)
	if len(r.slowest) > r.c.Slowest {
		r.release(r.fastest())
	}
}

// dropOldFromSlowest lets go of those that ended long before now.
func (r *Recent) dropOldFromSlowest(now time.Time) {
	r.slowestSince = now
	for i := len(r.slowest) - 1; i >= 0; i-- {
		old := r.slowest[i]
		switch {
		case now.Sub(old.end) > maxSlowestAge:
			r.slowest = slices.Delete(r.slowest, i, i+1)
			r.release(old)
		case old.end.Before(r.slowestSince):
			r.slowestSince = old.end
		}
	}
}

// listOf returns the list for the kind of n's root.
func (r *Recent) listOf(n *run) *list {
	if n.isRequest {
		return &r.newest
	}
	return &r.others
}

// makeRoom lets go of the oldest of the list of n, as long as there are too many with further ones.
func (r *Recent) makeRoom(n *run, further int) {
	l, limit := r.listOf(n), r.c.Requests
	if !n.isRequest {
		limit = r.c.Background
	}
	for l.oldest != nil && l.len+further > limit {
		q := l.oldest
		l.remove(q)
		r.release(q)
	}
}

// fastest takes the fastest from the slowest requests.
func (r *Recent) fastest() *request {
	last := len(r.slowest) - 1
	q := r.slowest[last]
	r.slowest = r.slowest[:last]
	return q
}

// wait adds a trace to those that wait, and lets go of the one that it displaces.
func (r *Recent) wait(t *traceData) {
	t.waiting = r.request(t)
	r.waiting.push(t.waiting)
	if r.waiting.len > r.c.MaxPending {
		r.abandon(r.waiting.oldest.trace)
	}
}

func (r *Recent) abandon(t *traceData) {
	r.stopWaiting(t)
	r.stats.Abandoned++
}

func (r *Recent) stopWaiting(t *traceData) {
	if q := t.waiting; q != nil {
		t.waiting = nil
		r.waiting.remove(q)
		r.release(q)
	}
}

// request returns a new request of t, for one list.
func (r *Recent) request(t *traceData) *request {
	q := r.freeRequests.take()
	q.trace, q.lists, q.arrival = t, 1, r.arrivals
	r.arrivals++
	t.users++
	return q
}

// release ends the use of a request by a list, and returns whether no other list has it.
func (r *Recent) release(q *request) bool {
	q.lists--
	if q.lists > 0 {
		return false
	}
	if q.own != nil {
		r.stats.Bytes -= uint64(len(q.own) + partBytes)
	}
	t := q.trace
	*q = request{}
	r.freeRequests.put(q)
	r.leave(t)
	return true
}

// leave ends a use of a trace. The last one removes it.
func (r *Recent) leave(t *traceData) {
	t.users--
	if t.users > 0 {
		return
	}
	r.traces.remove(t)
	r.stats.Bytes -= uint64(t.bytes())
	var parts []part
	if !t.shared && cap(t.parts) <= 16 {
		r.buffers.put(t.spans)
		clear(t.parts)
		parts = t.parts[:0]
	}
	*t = traceData{parts: parts}
	r.freeTraces.put(t)
}

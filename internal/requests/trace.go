package requests

import (
	"iter"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A traceData stores the spans of a trace in one of two ways. If one hand-over ended the request,
// the trace retains the bytes of the hand-over, which other traces share. Otherwise the trace owns
// a copy. Retained spans prevent the reuse of a block of memory, which pays only while the block's
// other spans are in memory as well. So Recent copies the spans when a request of the trace leaves
// the newest requests.
type traceData struct {
	id       trace.TraceID
	parts    []otlpenc.Spans // each of one tracer, without roots
	own      []byte          // memory of all parts; nil if the trace retains them
	size     int             // bytes in parts
	count    int             // spans
	shared   bool            // a reader has parts: the garbage collector frees their memory
	dropped  int             // spans
	full     bool            // the trace has reached a limit
	children children        // of the spans in parts, once the trace is full
	lost     []link          // of dropped spans above spans in parts
	bare     bool            // the spans in parts have no leaves: see shed
	requests int             // ended requests
	pending  *request        // in Recent.pending or Recent.unclaimed, until a request ends
	open     bool            // a local root of the trace is open
	users    int             // requests in memory, and one during Accept
	next     *traceData      // in the index
}

// partBytes is the size of a part in Config.MaxBytes. In a program that makes tracers without end,
// only the part keeps its group in memory.
const partBytes = 256

// A trace at its limits uses this part more for its roots and for the parents of its spans. When
// this part is full, too, the shortest leaves leave the trace: parents end after their children,
// and the tree needs the parents more.
const moreForParents = 4

// maxReferences bounds the requests that retain their spans. Longer lists copy all spans: otherwise
// each request of a long list could keep a block of its own.
const maxReferences = 256

// capacity returns the bytes of the parts, with room for more.
func (t *traceData) capacity() int { return max(cap(t.own), t.size) }

func (t *traceData) bytes() int {
	return t.capacity() + len(t.parts)*partBytes + len(t.children)*childrenBytes +
		len(t.lost)*linkBytes
}

// A request is a request in memory, or a pending trace.
type request struct {
	local.Root
	trace        *traceData
	at           rootPlace
	alone        *otlpenc.Spans // the root span, if the trace had no room for it
	lists        int            // that contain the request
	arrival      uint64
	older, newer *request // in Recent.newest, Recent.pending or Recent.unclaimed
}

// A rootPlace locates spans of a part. The last of them is the root span of a request.
type rootPlace struct{ part, start, end int32 }

// bytes returns the size of a request in Config.MaxBytes, without its trace.
func (q *request) bytes() int {
	if q.alone == nil {
		return len(q.Name)
	}
	return len(q.Name) + len(q.alone.Bytes) + partBytes
}

// add adds spans of one trace that arrived together. r.mu is held.
func (r *Recent) add(all []bridge.Spans) {
	if r.retain(all) {
		return
	}
	for i := range all {
		r.copy(inner(&all[i]))
	}
}

// acquire returns the trace with an id. The trace stays in memory until the caller calls leave.
func (r *Recent) acquire(id trace.TraceID) *traceData {
	t := r.traces.find(id)
	if t == nil {
		t = r.freeTraces.take()
		t.id = id
		r.traces.add(t)
	}
	t.users++
	return t
}

// retain stores spans of a new trace without a copy. It returns false if the trace is in memory, or
// if the spans end no request, exceed the limits of a trace, or find no room in memory.
func (r *Recent) retain(all []bridge.Spans) bool {
	count, size, names, ends := 0, 0, 0, false
	for i := range all {
		s := inner(&all[i])
		count += s.Count
		size += len(s.Bytes) + partBytes
		if root := s.Root(); root != nil {
			names += len(root.Name)
			ends = true
		}
	}
	if r.copies || !ends || count > r.c.MaxSpans || size > r.share ||
		r.traces.find(all[0].TraceID) != nil {
		return false
	}
	for i := range all {
		if root := inner(&all[i]).Root(); root != nil {
			// Before acquire: the new request reuses memory in this processor's cache.
			r.makeRoom(root.Class, 1)
		}
	}
	if !r.reserve(size+names, nil) {
		return false
	}
	t := r.acquire(all[0].TraceID)
	defer r.leave(t)
	for i := range all {
		s := inner(&all[i]).Retain().WithRoot(nil)
		t.parts = append(t.parts, s)
		t.size += len(s.Bytes)
		t.count += s.Count
	}
	for i := range all {
		if root := inner(&all[i]).Root(); root != nil {
			r.end(t, root)
			r.addRoot(t, root, rootPlace{part: int32(i), end: int32(len(all[i].Bytes))}, nil)
		}
	}
	return true
}

// copy adds a copy of spans to their trace, or of some spans if there is no room for all.
func (r *Recent) copy(s *otlpenc.Spans) {
	t := r.acquire(s.TraceID) // before evictions
	defer r.leave(t)
	if root := s.Root(); root != nil && len(s.Bytes)+partBytes <= r.share {
		r.makeRoom(root.Class, 1)
	}
	if at, ok := r.write(t, s); ok {
		r.finish(t, s, at, true)
		return
	}
	for one := range each(*s) {
		at, ok := r.write(t, &one)
		r.finish(t, &one, at, ok)
	}
}

// each yields spans one by one. The last element has the root, and any malformed bytes.
func each(s otlpenc.Spans) iter.Seq[otlpenc.Spans] {
	return func(yield func(otlpenc.Spans) bool) {
		var h otlpenc.Header
		for len(s.Bytes) > 0 {
			one := s
			if size, err := s.First(&h); err == nil && size < len(s.Bytes) {
				one = s.WithRoot(nil)
				one.Bytes, one.Count = s.Bytes[:size:size], 1
			}
			s.Bytes, s.Count = s.Bytes[len(one.Bytes):], max(1, s.Count-1)
			if !yield(one) {
				return
			}
		}
	}
}

// finish updates lists and counts for spans that write stored at a place. ok is false if the trace
// had no room for the spans.
func (r *Recent) finish(t *traceData, s *otlpenc.Spans, at rootPlace, ok bool) {
	root := s.Root()
	if root == nil {
		if !ok {
			r.drop(t, s.Count)
			r.link(t, s)
		}
		if t.requests == 0 && (t.pending == nil || s.IsOpen() && !t.open) {
			r.removePending(t)
			t.open = s.IsOpen()
			r.addPending(t)
		}
		return
	}
	var alone *otlpenc.Spans
	size := len(root.Name)
	if !ok {
		size += len(s.Bytes) + partBytes
		if ok = size <= r.share; ok {
			copied := s.WithRoot(nil).Clone()
			alone = &copied
		}
	}
	r.end(t, root)
	switch {
	case ok && r.reserve(size, t):
		r.addRoot(t, root, at, alone)
		if alone != nil { // the other requests of the trace lack the root span
			t.dropped += alone.Count
		}
		return
	case !ok || alone != nil:
		r.drop(t, s.Count)
	}
	r.stats.Evicted++
}

func (r *Recent) drop(t *traceData, spans int) {
	t.dropped += spans
	r.stats.SpansDropped += uint64(spans)
}

// end counts an ended root span.
func (r *Recent) end(t *traceData, root *local.Root) {
	if isRequest(root.Class) {
		r.stats.Requests++
		r.strays.NoteRequest() // a job is no request at its start
	} else {
		r.stats.Background++
	}
	t.requests++
	t.dropped += int(root.Refused)
	r.removePending(t)
}

func isRequest(c local.Class) bool { return c <= local.Inner }

// write appends a copy of spans to their trace. It returns false if the spans exceed the trace's
// limits or find no room in memory.
func (r *Recent) write(t *traceData, s *otlpenc.Spans) (at rootPlace, ok bool) {
	if !r.fits(t, s, 0) && (!r.isAbove(t, s) ||
		!r.fits(t, s, moreForParents) && !r.shed(t, s)) {
		return at, false
	}
	size, more := t.size+len(s.Bytes), 0
	last := len(t.parts) - 1
	begins := t.begins(s)
	if begins {
		more = partBytes
	}
	if have := t.capacity(); size > have {
		capacity, _ := bufferSize(size)
		more += capacity - have
	}
	if !r.reserve(more, t) {
		return at, false
	}
	if size > t.capacity() {
		r.move(t, r.buffers.take(size))
	}
	switch {
	case begins:
		last++
		part := otlpenc.NewSpans(s.Group(), nil, 0)
		part.TraceID = t.id
		t.parts = append(t.parts, part)
	case t.shared:
		t.parts = slices.Clone(t.parts)
	}
	part := &t.parts[last]
	start := len(part.Bytes)
	t.own = append(t.own, s.Bytes...)
	part.Bytes = t.own[len(t.own)-start-len(s.Bytes):]
	part.Count += s.Count
	t.size = size
	t.count += s.Count
	t.bare = false
	if t.full {
		r.addChildren(t, *s)
	}
	return rootPlace{int32(last), int32(start), int32(len(part.Bytes))}, true
}

// move copies the bytes of a trace to a buffer with enough capacity.
func (r *Recent) move(t *traceData, to []byte) {
	parts := t.parts
	if t.shared {
		parts = slices.Clone(parts)
	}
	for i, p := range parts {
		at := len(to)
		to = append(to, p.Bytes...)
		if !t.shared {
			p.Release()
		}
		parts[i] = otlpenc.NewSpans(p.Group(), to[at:], p.Count)
		parts[i].TraceID = p.TraceID
	}
	if !t.shared {
		r.buffers.put(t.own)
	}
	t.own, t.parts, t.shared = to, parts, false
}

// detach copies the spans of a trace that retains them. The number of bytes stays.
func (r *Recent) detach(t *traceData) {
	if t.own == nil && t.size > 0 {
		r.move(t, make([]byte, 0, t.size))
	}
}

// reserve counts n bytes more and evicts what exceeds MaxBytes. It returns false if there is
// nothing left to evict. Trace t, which may be nil, stays, but its requests may leave their lists.
func (r *Recent) reserve(n int, t *traceData) bool {
	for int(r.stats.Bytes)+n > r.c.MaxBytes {
		if !r.evict(t) {
			return false
		}
	}
	r.stats.Bytes += uint64(n)
	return true
}

// waiting returns the list for a trace without a request. Spans that arrive after their request has
// left memory thus displace no spans of open requests.
func (r *Recent) waiting(t *traceData) *list {
	if t.open {
		return &r.pending
	}
	return &r.unclaimed
}

// addPending adds a trace to its list, and removes the oldest trace over MaxPending.
func (r *Recent) addPending(t *traceData) {
	t.pending = r.request(t)
	l := r.waiting(t)
	l.push(t.pending)
	if l.len > r.c.MaxPending {
		r.abandon(l.oldest.trace)
	}
}

func (r *Recent) abandon(t *traceData) {
	if t.open {
		r.stats.Abandoned++
	} else {
		r.stats.Late += uint64(t.count)
	}
	r.removePending(t)
}

func (r *Recent) removePending(t *traceData) {
	if q := t.pending; q != nil {
		t.pending = nil
		r.waiting(t).remove(q)
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

// release drops a list's reference to a request. It returns true if it was the last reference.
func (r *Recent) release(q *request) bool {
	q.lists--
	if q.lists > 0 {
		return false
	}
	r.stats.Bytes -= uint64(q.bytes())
	t := q.trace
	*q = request{}
	r.freeRequests.put(q)
	r.leave(t)
	return true
}

// leave drops a reference to a trace. The last leave removes the trace.
func (r *Recent) leave(t *traceData) {
	t.users--
	if t.users > 0 {
		return
	}
	r.traces.remove(t)
	r.stats.Bytes -= uint64(t.bytes())
	var parts []otlpenc.Spans
	if !t.shared {
		for i := range t.parts {
			t.parts[i].Release()
		}
		r.buffers.put(t.own)
		if cap(t.parts) <= 16 {
			clear(t.parts)
			parts = t.parts[:0]
		}
	}
	var below children
	if len(t.children) <= 64 {
		below = t.children
		clear(below)
	}
	*t = traceData{parts: parts, children: below}
	r.freeTraces.put(t)
}

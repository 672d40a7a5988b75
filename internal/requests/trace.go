package requests

import (
	"iter"
	"slices"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A traceData has the spans of a trace in memory, in one of two ways. A trace that ended its
// request in one hand-over retains the spans: it has their bytes in common with others. Other
// traces have a copy. Retained spans keep a block of memory from being used again, which pays only
// as long as the block's other spans are in memory as well. So the spans are copied when a request
// of the trace leaves the newest requests.
type traceData struct {
	id       trace.TraceID
	parts    []otlpenc.Spans // each of one tracer, without their roots
	own      []byte          // memory of all parts; nil if the trace retains them
	size     int             // of the bytes in parts
	count    int             // of spans
	shared   bool            // a reader has parts: their memory is left to the garbage collector
	dropped  int             // spans
	requests int             // that ended
	waiting  *request        // in Recent.waiting, until a request ends
	users    int             // requests in memory, and one while spans are added
	next     *traceData      // in the index
}

// partBytes is what a part counts in Config.MaxBytes. In a program that makes tracers without end,
// a part keeps a group in memory that nothing else has.
const partBytes = 256

// maxReferences is how many requests at most retain their spans. With more, all spans are copied:
// one long list of requests whose spans arrive among many others would keep a block for each of
// them.
const maxReferences = 256

// capacity returns how many bytes the parts take, with room for others.
func (t *traceData) capacity() int { return max(cap(t.own), t.size) }

func (t *traceData) bytes() int { return t.capacity() + len(t.parts)*partBytes }

// A request is one in memory, or a trace that waits for one to end.
type request struct {
	local.Root
	trace        *traceData
	at           rootPlace
	alone        *otlpenc.Spans // the root span, if the trace had no room for it
	lists        int            // that have the request
	arrival      uint64
	older, newer *request // in Recent.newest, Recent.others or Recent.waiting
}

// A rootPlace is spans of a part, the last of which is the root span of a request.
type rootPlace struct{ part, start, end int32 }

// bytes returns what a request counts beside its trace.
func (q *request) bytes() int {
	if q.alone == nil {
		return len(q.Name)
	}
	return len(q.Name) + len(q.alone.Bytes) + partBytes
}

// add adds spans of one trace, which come together. r.mu is held.
func (r *Recent) add(all []bridge.Spans) {
	if r.retain(all) {
		return
	}
	for i := range all {
		r.takeCopy(inside(&all[i]))
	}
}

// open returns the trace with an id, which stays in memory until the caller calls leave.
func (r *Recent) open(id trace.TraceID) *traceData {
	t := r.traces.find(id)
	if t == nil {
		t = r.freeTraces.take()
		t.id = id
		r.traces.add(t)
	}
	t.users++
	return t
}

// retain retains spans of a trace that is not in memory. It returns false if it is, or if the spans
// end no request, exceed the limits of a trace, or have no room in memory.
func (r *Recent) retain(all []bridge.Spans) bool {
	count, size, names, ends := 0, 0, 0, false
	for i := range all {
		s := inside(&all[i])
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
		if root := inside(&all[i]).Root(); root != nil {
			// first: the request gets its memory, which is then in this processor's cache
			r.makeRoom(root.Class, 1)
		}
	}
	if !r.reserve(size+names, nil) {
		return false
	}
	t := r.open(all[0].TraceID)
	defer r.leave(t)
	for i := range all {
		s := inside(&all[i]).Retain().WithRoot(nil)
		t.parts = append(t.parts, s)
		t.size += len(s.Bytes)
		t.count += s.Count
	}
	for i := range all {
		if root := inside(&all[i]).Root(); root != nil {
			r.end(t, root)
			r.keep(t, root, rootPlace{part: int32(i), end: int32(len(all[i].Bytes))}, nil)
		}
	}
	return true
}

// takeCopy adds a copy of spans to their trace, or of some of them if there is no room for all.
func (r *Recent) takeCopy(s *otlpenc.Spans) {
	t := r.open(s.TraceID) // it stays while others go
	defer r.leave(t)
	if root := s.Root(); root != nil && len(s.Bytes)+partBytes <= r.share {
		r.makeRoom(root.Class, 1)
	}
	if at, ok := r.write(t, s); ok {
		r.arrived(t, s, at, true)
		return
	}
	for one := range each(*s) {
		at, ok := r.write(t, &one)
		r.arrived(t, &one, at, ok)
	}
}

// each yields spans one by one. The last one has the root, and what is malformed.
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

// arrived notes that spans arrived, which are at a place in their trace unless the trace had no
// room for them.
func (r *Recent) arrived(t *traceData, s *otlpenc.Spans, at rootPlace, ok bool) {
	root := s.Root()
	if root == nil {
		if !ok {
			r.drop(t, s.Count)
		}
		if t.requests == 0 && t.waiting == nil {
			r.wait(t)
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
		r.keep(t, root, at, alone)
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

// end counts a root span that ended.
func (r *Recent) end(t *traceData, root *local.Root) {
	if isRequest(root.Class) {
		r.stats.Requests++
	} else {
		r.stats.Background++
	}
	t.requests++
	t.dropped += int(root.Refused)
	r.stopWaiting(t)
}

func isRequest(c local.Class) bool { return c <= local.Stream }

// write appends a copy of spans to their trace. It returns false if they exceed the trace's limits,
// or if memory has no room.
func (r *Recent) write(t *traceData, s *otlpenc.Spans) (at rootPlace, ok bool) {
	size, more := t.size+len(s.Bytes), 0
	last := len(t.parts) - 1
	begins := last < 0 || t.parts[last].Group() != s.Group()
	if begins {
		more = partBytes
	}
	if t.count+s.Count > r.c.MaxSpans || size+len(t.parts)*partBytes+more > r.share {
		return at, false
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
	return rootPlace{int32(last), int32(start), int32(len(part.Bytes))}, true
}

// move copies the bytes of a trace to a buffer that has room for them.
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

// detach copies the spans of a trace that retains them. The copy counts as much as they did.
func (r *Recent) detach(t *traceData) {
	if t.own == nil && t.size > 0 {
		r.move(t, make([]byte, 0, t.size))
	}
}

// reserve counts n bytes more, for which others may have to go. It returns false if none are left.
// Trace t, which may be nil, stays, but not its requests.
func (r *Recent) reserve(n int, t *traceData) bool {
	for int(r.stats.Bytes)+n > r.c.MaxBytes {
		if !r.letGo(t) {
			return false
		}
	}
	r.stats.Bytes += uint64(n)
	return true
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
	r.stats.Bytes -= uint64(q.bytes())
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
	*t = traceData{parts: parts}
	r.freeTraces.put(t)
}

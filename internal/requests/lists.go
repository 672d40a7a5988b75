package requests

import (
	"slices"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
)

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
	q, gone := from.oldest, false
	switch example := r.examples.oldest(); {
	case older(example, w) && older(example, q):
		r.stats.ExamplesEvicted++
		gone = r.release(r.examples.takeOldest())
	case older(w, q):
		r.abandon(w.trace)
	case q != nil:
		gone = r.leaveNewest(from)
	case len(r.keptRequests) > 0:
		r.stats.KeptEvicted++
		gone = r.release(r.keptRequests.takeOldest())
	case len(r.slowest) > 0:
		gone = r.release(r.fastest())
	default:
		return false
	}
	if gone {
		r.stats.Evicted++
	}
	return true
}

// older reports whether a arrived before b. Without a request there is nothing older.
func older(a, b *request) bool { return a != nil && (b == nil || a.arrival < b.arrival) }

// keep adds a request to its lists, and lets go of those it displaces.
func (r *Recent) keep(t *traceData, root *local.Root, at rootPlace, alone *otlpenc.Spans) {
	q := r.request(t)
	q.Root, q.at, q.alone = *root, at, alone
	r.listOf(root.Class).push(q)
	if root.Class == local.Request {
		r.rank(q)
		r.exemplify(q)
	}
	if isRequest(root.Class) && root.Keep != local.NotKept {
		r.keepLonger(q)
	}
	r.makeRoom(root.Class, 0)
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
		r.release(r.keptRequests.takeOldest())
	}
	size := 0
	for _, q := range slices.Backward(r.keptRequests) {
		size += q.trace.bytes() + q.bytes()
	}
	for size > r.c.MaxBytes/2 && len(r.keptRequests) > 1 {
		old := r.keptRequests.takeOldest()
		size -= old.trace.bytes() + old.bytes()
		r.release(old)
		r.stats.KeptEvicted++
	}
}

// maxSlowestAge is how long a request is among the slowest.
const maxSlowestAge = time.Hour

// rank adds a request to the slowest, if it is slow enough.
func (r *Recent) rank(q *request) {
	if q.End.Sub(r.slowestSince) > maxSlowestAge {
		r.dropOldFromSlowest(q.End)
	}
	// of the newer ones that took as long, the last comes first
	at, took := len(r.slowest), q.Took()
	for at > 0 && r.slowest[at-1].Took() <= took {
		at--
	}
	if at == r.c.Slowest {
		return
	}
	if len(r.slowest) == 0 || q.End.Before(r.slowestSince) {
		r.slowestSince = q.End
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
		case now.Sub(old.End) > maxSlowestAge:
			r.slowest = slices.Delete(r.slowest, i, i+1)
			r.release(old)
		case old.End.Before(r.slowestSince):
			r.slowestSince = old.End
		}
	}
}

// fastest takes the fastest from the slowest requests.
func (r *Recent) fastest() *request {
	last := len(r.slowest) - 1
	q := r.slowest[last]
	r.slowest = r.slowest[:last]
	return q
}

// listOf returns the list of the newest roots of a class.
func (r *Recent) listOf(c local.Class) *list {
	if isRequest(c) {
		return &r.newest
	}
	return &r.others
}

// makeRoom lets go of the oldest in the list of a class, as long as there are too many with further
// ones.
func (r *Recent) makeRoom(c local.Class, further int) {
	l, limit := r.listOf(c), r.c.Requests
	if !isRequest(c) {
		limit = r.c.Background
	}
	for l.oldest != nil && l.len+further > limit {
		r.leaveNewest(l)
	}
}

// leaveNewest takes the oldest from a list of the newest, and returns whether no other list has it.
// A request that stays in memory gets a copy of its spans.
func (r *Recent) leaveNewest(l *list) (gone bool) {
	q := l.oldest
	t := q.trace
	l.remove(q)
	if gone = r.release(q); !gone {
		r.detach(t)
	}
	return gone
}

package requests

import (
	"slices"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
)

// evict removes the oldest request or trace, except trace t. It returns false if there is none.
func (r *Recent) evict(t *traceData) bool {
	pending := r.pending.oldestBut(t)
	if late := r.unclaimed.oldestBut(t); older(late, pending) {
		pending = late
	}
	from := &r.newest[local.Request]
	for i := range r.newest {
		if older(r.newest[i].oldest, from.oldest) {
			from = &r.newest[i]
		}
	}
	q, gone := from.oldest, false
	switch example := r.examples.oldest(); {
	case older(example, pending) && older(example, q):
		r.stats.ExamplesEvicted++
		gone = r.release(r.examples.takeOldest())
	case older(pending, q):
		r.abandon(pending.trace)
	case q != nil:
		gone = r.removeOldest(from)
	case len(r.keptRequests) > 0:
		r.stats.KeptEvicted++
		gone = r.release(r.keptRequests.take(max(0, r.keptRequests.oldestBy(isInside))))
	case len(r.slowest) > 0:
		gone = r.release(r.takeFastest())
	default:
		return false
	}
	if gone {
		r.stats.Evicted++
	}
	return true
}

// oldestBut returns the oldest request of another trace than t, or nil.
func (l *list) oldestBut(t *traceData) *request {
	if l.oldest != nil && l.oldest.trace == t {
		return l.oldest.newer
	}
	return l.oldest
}

// older reports whether a arrived before b. A nil request arrived after all others.
func older(a, b *request) bool { return a != nil && (b == nil || a.arrival < b.arrival) }

// addRoot adds a request to its lists, and removes the requests that it displaces.
func (r *Recent) addRoot(t *traceData, root *local.Root, at rootPlace, alone *otlpenc.Spans) {
	q := r.request(t)
	q.Root, q.at, q.alone = *root, at, alone
	r.newest[root.Class].push(q)
	if root.Class == local.Request {
		r.addSlow(q)
		r.addExample(q)
	}
	if isRequest(root.Class) && root.Keep != local.NotKept {
		r.addKept(q)
	}
	r.makeRoom(root.Class, 0)
}

// insideShare divides Config.KeptRequests and the bytes of keptRequests. Requests with only an
// error inside have the quotients for themselves, beside the other requests.
const insideShare = 4

func isInside(q *request) bool { return q.Keep == local.KeptForErrorInside }

// addKept adds a request to keptRequests, and removes the requests that it displaces. Requests with
// only an error inside displace each other, and no other requests.
func (r *Recent) addKept(q *request) {
	r.stats.KeptRequests++
	if r.c.KeptRequests == 0 {
		return
	}
	isSame := func(q *request) bool { return !isInside(q) }
	places, bytes := r.c.KeptRequests, r.c.MaxBytes/2
	if isInside(q) {
		isSame, places, bytes = isInside, max(1, places/insideShare), bytes/insideShare
	}
	q.lists++
	r.keptRequests = append(r.keptRequests, q)
	n, size := 0, 0
	for _, q := range r.keptRequests {
		if isSame(q) {
			n, size = n+1, size+q.trace.bytes()+q.bytes()
		}
	}
	for n > places || size > bytes && n > 1 {
		old := r.keptRequests.take(r.keptRequests.oldestBy(isSame))
		if n <= places {
			r.stats.KeptEvicted++
		}
		n, size = n-1, size-old.trace.bytes()-old.bytes()
		r.release(old)
	}
}

// maxSlowestAge is the time after which a request leaves the slowest requests.
const maxSlowestAge = time.Hour

// addSlow adds a request to the slowest, if it is slow enough.
func (r *Recent) addSlow(q *request) {
	if q.End.Sub(r.slowestSince) > maxSlowestAge {
		r.expireSlowest(q.End)
	}
	// Of requests with the same duration, the latest comes first.
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
		r.release(r.takeFastest())
	}
}

// expireSlowest removes the slowest requests that ended more than maxSlowestAge before now.
func (r *Recent) expireSlowest(now time.Time) {
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

// takeFastest removes the fastest of the slowest requests from their list.
func (r *Recent) takeFastest() *request {
	last := len(r.slowest) - 1
	q := r.slowest[last]
	r.slowest = r.slowest[:last]
	return q
}

// makeRoom removes the oldest roots from the list of a class, until n more fit.
func (r *Recent) makeRoom(c local.Class, n int) {
	l, limit := &r.newest[c], r.c.Requests
	if !isRequest(c) {
		limit = r.c.Background
	}
	for l.oldest != nil && l.len+n > limit {
		r.removeOldest(l)
	}
}

// removeOldest removes the oldest root from a list, and returns whether the root left memory. A
// request that stays in another list gets a copy of its spans.
func (r *Recent) removeOldest(l *list) (gone bool) {
	q := l.oldest
	t := q.trace
	l.remove(q)
	if gone = r.release(q); !gone {
		r.detach(t)
	}
	return gone
}

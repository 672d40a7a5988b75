package flight

import (
	"cmp"
	"maps"
	"slices"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// results stores the results of a recorder. The analysis alone changes results, one at a time. Over
// the bounds, these leave:
//
//  1. the results of requests that have left memory
//  2. over the number of results: the results of the least slow requests
//  3. over the bytes: the details of the least slow requests, and then their whole results
type results struct {
	max, maxBytes int
	requests      map[local.ID]*result
	own           int // bytes of all results without the pool
	bytes         int // of all results with the pool, after makeRoom
	evicted       uint64
	tooLarge      uint64

	// The analysis uses the following fields without the recorder's lock.
	pool     pool
	arrivals uint64
}

// A result is a stored result.
type result struct {
	request *waits.Request
	uses    []*shared
	bytes   int    // without uses
	arrival uint64 // among all results
	gone    bool   // the request has left memory
}

func newResults(most, maxBytes int) results {
	return results{
		max: most, maxBytes: maxBytes, requests: map[local.ID]*result{}, pool: newPool(),
	}
}

// prepare shares the stacks and texts of a request. The caller must call add.
func (r *results) prepare(request *waits.Request) *result {
	r.arrivals++
	x := &result{request: request, arrival: r.arrivals}
	x.uses, x.bytes = r.pool.share(request)
	return x
}

// add stores a result, which may exceed the bounds until the caller calls makeRoom.
func (r *results) add(k local.ID, x *result) {
	if r.requests[k] == x { // the program asked twice
		return
	}
	r.remove(k)
	r.requests[k] = x
	r.own += x.bytes
}

func (r *results) remove(k local.ID) {
	old, ok := r.requests[k]
	if !ok {
		return
	}
	delete(r.requests, k)
	r.own -= old.bytes
	r.pool.release(old.uses)
}

// shed drops the details of a result: the goroutines and their intervals. Readers may have the
// request with its details.
func (r *results) shed(x *result) {
	short, old := *x.request, *x
	short.Goroutines, short.Omitted = nil, short.Omitted+len(short.Goroutines)
	short.Causes = slices.Clone(short.Causes)
	for i := range short.Causes { // share writes to parties
		c := &short.Causes[i]
		c.By, c.In = copied(c.By), copied(c.In)
	}
	x.request = &short
	x.uses, x.bytes = r.pool.share(x.request)
	r.pool.release(old.uses)
	r.own += x.bytes - old.bytes
	r.tooLarge++
}

func copied(p *waits.Party) *waits.Party {
	if p == nil {
		return nil
	}
	own := *p
	return &own
}

// makeRoom enforces the bounds, and reports each result that it evicts.
func (r *results) makeRoom(evicted func(local.ID, waiting.Reason)) {
	defer func() { r.bytes = r.own + r.pool.bytes }()
	tooMany := func() bool { return len(r.requests) > r.max }
	tooLarge := func() bool { return r.own+r.pool.bytes > r.maxBytes }
	if !tooMany() && !tooLarge() {
		return
	}
	order := r.evictionOrder()
	evict := func() {
		k := order[0]
		reason := waiting.LessSlow
		switch {
		case r.max == 0:
			reason = waiting.NotStored
		case len(order) == 1:
			reason = waiting.TooLarge
		case r.requests[k].gone:
			reason = waiting.Gone
		}
		if reason != waiting.Gone {
			r.evicted++
		}
		r.remove(k)
		order = order[1:]
		evicted(k, reason)
	}
	for len(order) > 0 && (tooMany() || tooLarge() && r.requests[order[0]].gone) {
		evict()
	}
	for _, k := range order {
		if x := r.requests[k]; tooLarge() && len(x.request.Goroutines) > 0 {
			r.shed(x)
		}
	}
	for len(order) > 0 && tooLarge() {
		evict()
	}
}

// evictionOrder returns all ids. The first result leaves first: requests that have left memory
// precede the others, and less slow requests precede slower ones.
func (r *results) evictionOrder() []local.ID {
	order := slices.Collect(maps.Keys(r.requests))
	slices.SortFunc(order, func(a, b local.ID) int {
		x, y := r.requests[a], r.requests[b]
		switch {
		case x.gone && !y.gone:
			return -1
		case y.gone && !x.gone:
			return 1
		}
		return cmp.Or(cmp.Compare(x.request.Duration, y.request.Duration),
			cmp.Compare(x.arrival, y.arrival))
	})
	return order
}

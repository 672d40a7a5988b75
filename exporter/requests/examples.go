package requests

import (
	"hash/maphash"
	"math/bits"

	"github.com/perfline/perfline/exporter/local"
	"github.com/perfline/perfline/exporter/routes"
)

// examples have the first request of each cell of a route's heat map, by age, and find the cell.
type examples struct {
	oldest, newest *request
	len            int

	heads []*request // chains of requests by their cells
	seed  maphash.Seed
}

func newExamples(most int) examples {
	return examples{heads: make([]*request, 1<<bits.Len(uint(min(most, maxHeads-1)))), seed: maphash.MakeSeed()}
}

// An exampleOf links a request to the other examples.
type exampleOf struct {
	cell        uint64   // a hash of the route and its cell
	newer, next *request // by age, and in the chain
}

// cellOf returns the number of a cell. If two cells have the same number, which is about never, the second one has no example.
func (x *examples) cellOf(root *local.Root) uint64 {
	c := routes.CellOf(root.End, root.Took())
	return maphash.String(x.seed, root.Name) + uint64(c.Column)*0x9e3779b97f4a7c15 + uint64(c.Row)*0xd6e8feb86659fd93
}

func (x *examples) chain(cell uint64) **request { return &x.heads[cell%uint64(len(x.heads))] }

// has reports whether a cell has an example.
func (x *examples) has(cell uint64) bool {
	for q := *x.chain(cell); q != nil; q = q.example.next {
		if q.example.cell == cell {
			return true
		}
	}
	return false
}

// push adds a request as the example of a cell that has none.
func (x *examples) push(q *request, cell uint64) {
	at := x.chain(cell)
	q.example = exampleOf{cell: cell, next: *at}
	*at = q
	if x.newest == nil {
		x.oldest = q
	} else {
		x.newest.example.newer = q
	}
	x.newest = q
	x.len++
}

// pop takes the oldest one.
func (x *examples) pop() *request {
	q := x.oldest
	at := x.chain(q.example.cell)
	for *at != q {
		at = &(*at).example.next
	}
	*at = q.example.next
	if x.oldest = q.example.newer; x.oldest == nil {
		x.newest = nil
	}
	x.len--
	q.example = exampleOf{}
	return q
}

// exemplify adds a request to the examples, if it is the first one of its cell, and lets go of the one it displaces.
func (r *Recent) exemplify(q *request) {
	if r.c.Examples == 0 {
		return
	}
	cell := r.examples.cellOf(&q.Root)
	if r.examples.has(cell) {
		return
	}
	q.lists++
	r.stats.Examples++
	r.examples.push(q, cell)
	if r.examples.len > r.c.Examples {
		r.release(r.examples.pop())
	}
}

// Examples returns the first request of each cell of the routes' heat maps, as [routes.CellOf] tells cells apart, the newest first.
// Streams are in no cell. It decodes nothing.
func (r *Recent) Examples() []Snapshot {
	r.onRead.Call()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.examples.snapshots()
}

func (x *examples) snapshots() []Snapshot {
	all := make([]Snapshot, x.len)
	at := len(all)
	for q := x.oldest; q != nil; q = q.example.newer {
		at--
		all[at] = q.snapshot()
	}
	return all
}

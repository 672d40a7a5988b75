package requests

import (
	"hash/maphash"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// examples have the first request of each cell of a route's heat map.
type examples struct {
	fifo
	seed  maphash.Seed
	cells map[uint64]bool // cells of the requests
}

// cellOf returns the number of a cell. If two cells have the same number, which is about never, the
// second one has no example.
func (x *examples) cellOf(root *local.Root) uint64 {
	c := routes.CellOf(root.End, root.Took())
	return maphash.String(x.seed,
		root.Name) + uint64(c.Column)*0x9e3779b97f4a7c15 + uint64(c.Row)*0xd6e8feb86659fd93
}

// takeOldest removes the oldest request.
func (x *examples) takeOldest() *request {
	q := x.fifo.takeOldest()
	delete(x.cells, x.cellOf(&q.Root))
	return q
}

// exemplify adds a request to the examples, if it is the first one of its cell, and lets go of the
// one it displaces.
func (r *Recent) exemplify(q *request) {
	if r.c.Examples == 0 {
		return
	}
	x := &r.examples
	cell := x.cellOf(&q.Root)
	if x.cells[cell] {
		return
	}
	q.lists++
	r.stats.Examples++
	x.cells[cell] = true
	x.fifo = append(x.fifo, q)
	if len(x.fifo) > r.c.Examples {
		r.release(x.takeOldest())
	}
}

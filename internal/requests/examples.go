package requests

import (
	"hash/maphash"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
)

// examples holds the first request of each cell of the routes' heat maps.
type examples struct {
	fifo
	seed  maphash.Seed
	cells map[uint64]bool // of the requests
}

// cellOf returns the number of a cell. If two cells collide, which is very unlikely, the second
// cell gets no example.
func (x *examples) cellOf(root *local.Root) uint64 {
	c := routes.CellOf(root.End, root.Took())
	name := maphash.String(x.seed, root.Name)
	return name + uint64(c.Column)*0x9e3779b97f4a7c15 + uint64(c.Row)*0xd6e8feb86659fd93
}

func (x *examples) takeOldest() *request {
	q := x.take(0)
	delete(x.cells, x.cellOf(&q.Root))
	return q
}

// addExample adds a request to the examples if it is the first of its cell, and removes the oldest
// example over the limit.
func (r *Recent) addExample(q *request) {
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

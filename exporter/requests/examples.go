package requests

import (
	"github.com/perfline/perfline/exporter/local"
	"github.com/perfline/perfline/exporter/routes"
)

// An exampleCell is a cell of a route's heat map.
type exampleCell struct {
	route string
	cell  routes.Cell
}

func cellOf(root *local.Root) exampleCell {
	return exampleCell{root.Name, routes.CellOf(root.End, root.Took())}
}

// exemplify adds a request to the examples, if it is the first one of its cell, and lets go of the one it displaces.
func (r *Recent) exemplify(q *request) {
	if r.c.Examples == 0 {
		return
	}
	cell := cellOf(&q.Root)
	if r.cells[cell] {
		return
	}
	q.lists++
	r.stats.Examples++
	r.cells[cell] = true
	r.examples = append(r.examples, q)
	if len(r.examples) > r.c.Examples {
		r.release(r.oldestExample())
	}
}

// oldestExample takes the oldest request from the examples.
func (r *Recent) oldestExample() *request {
	q := r.examples.takeOldest()
	delete(r.cells, cellOf(&q.Root))
	return q
}

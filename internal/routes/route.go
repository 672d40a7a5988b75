package routes

import (
	"sync"
	"sync/atomic"

	"github.com/perfline/perfline/internal/local"
)

const (
	minuteColumns = 30 // of the last minutes, the open column included
	maxColumns    = 60 // since the start
)

// A route counts the requests of one route twice: in columns of the last minutes and in columns
// since the start.
type route struct {
	message bool // the first root of the route was a message or a job: see local.Root

	usual atomic.Int64 // nanoseconds; 0 below minUsual requests. See Table.Usual

	mu      sync.Mutex // guards the fields below
	count   uint64     // requests
	at      int        // the number of the open column since the table's start
	open    column     // not yet in minutes and start
	minutes [minuteColumns]packed
	start   []packed // since the table's start, the oldest first
	merged  int      // a column of start spans 1<<merged columns of columnStep
}

// add counts a request in the column at. A later column than the open column becomes the open
// column, unless it is in the future.
func (r *route) add(at int, root *local.Root, t *Table) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at > r.at {
		r.advance(min(at, t.now()))
		at = min(at, r.at)
	}
	if at == r.at {
		r.open.add(root)
	} else {
		var late column
		late.add(root)
		r.store(at, &late)
	}
	r.updateUsual()
}

// advance makes the column at the open column, unless the open column is later.
func (r *route) advance(at int) {
	if at <= r.at {
		return
	}
	if r.open != (column{}) {
		r.store(r.at, &r.open)
		r.open = column{}
	}
	for i := max(r.at, at-minuteColumns) + 1; i <= at; i++ {
		r.minutes[i%minuteColumns] = r.minutes[i%minuteColumns][:0]
	}
	r.at = at
	for at>>r.merged >= maxColumns {
		r.mergeStart()
	}
}

// store adds the requests of the column at to minutes and start.
func (r *route) store(at int, c *column) {
	if at > r.at-minuteColumns {
		r.minutes[at%minuteColumns].merge(c)
	}
	i := at >> r.merged
	for len(r.start) <= i {
		r.start = append(r.start, nil)
	}
	r.start[i].merge(c)
}

// mergeStart merges each two columns since the start.
func (r *route) mergeStart() {
	r.merged++
	half := (len(r.start) + 1) / 2
	for i := range half {
		var both column
		r.start[2*i].addTo(&both)
		if 2*i+1 < len(r.start) {
			r.start[2*i+1].addTo(&both)
		}
		r.start[i].pack(&both)
	}
	clear(r.start[half:])
	r.start = r.start[:half]
}

// sum returns all requests of a window. r.mu is held.
func (r *route) sum(w Window) column {
	all, stored := r.open, r.start
	if w == LastMinutes {
		stored = r.minutes[:]
	}
	for _, p := range stored {
		p.addTo(&all)
	}
	return all
}

// visit calls do for each column with requests, and its place on the axis. do must not keep the
// column.
func (r *route) visit(x axis, do func(place int, c *column)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(x.now)
	unpack := func(number int, p packed) {
		if len(p) == 0 {
			return
		}
		var c column
		p.addTo(&c)
		do(x.place(number), &c)
	}
	if x.window == LastMinutes {
		for i := max(0, r.at-minuteColumns+1); i < r.at; i++ {
			unpack(i, r.minutes[i%minuteColumns])
		}
	} else {
		for i, p := range r.start {
			unpack(i<<r.merged, p)
		}
	}
	if r.open != (column{}) {
		do(x.place(r.at), &r.open)
	}
}

// addTo adds the requests of the route to the columns of an axis.
func (r *route) addTo(columns []column, x axis) {
	r.visit(x, func(place int, c *column) { columns[place].merge(c) })
}

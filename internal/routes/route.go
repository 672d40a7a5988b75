package routes

import (
	"sync"
	"sync/atomic"

	"github.com/perfline/perfline/internal/local"
)

const (
	minuteColumns = 30 // of the last minutes, the open one included
	maxColumns    = 60 // since the start
)

// A route has the histograms of one route. The columns of the last minutes and since the start have
// the same requests.
type route struct {
	usual atomic.Int64 // nanoseconds; 0 while there are too few requests. See Table.Usual

	mu      sync.Mutex // guards what follows
	seen    uint64     // requests
	at      int        // the number of the open column since the table's start
	open    column     // is in neither of these two yet
	minutes [minuteColumns]packed
	start   []packed // since the table's start, the oldest first
	merged  int      // a column of start has 1<<merged columns of columnStep
}

// add counts a request in the column at. A column after the open one becomes the open one, unless
// it is in the future.
func (r *route) add(at int, root *local.Root, t *Table) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if at > r.at {
		if at = min(at, max(r.at, t.now())); at > r.at {
			r.advance(at)
		}
	}
	defer r.look()
	if at == r.at {
		r.open.add(root)
		return
	}
	var late column
	late.add(root)
	if at > r.at-minuteColumns {
		r.minutes[at%minuteColumns].merge(&late)
	}
	r.addToStart(at, &late)
}

// advance makes the column at the open one. It is later than the one that is open.
func (r *route) advance(at int) {
	if r.open != (column{}) {
		r.minutes[r.at%minuteColumns].pack(&r.open)
		r.addToStart(r.at, &r.open)
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

// addToStart adds c, which the route got in the column at, to the columns since the start.
func (r *route) addToStart(at int, c *column) {
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

// sum returns all requests of a window that ends with the column now.
func (r *route) sum(w Window, now int) (all column) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reach(now)
	all = r.open
	older := r.start
	if w == LastMinutes {
		older = r.minutes[:]
	}
	for _, p := range older {
		p.addTo(&all)
	}
	return all
}

// A history has the columns of a window.
type history struct {
	first   int // the number of the first column
	each    int // columns of columnStep in each one
	columns []column
}

// history returns the columns of a window that ends with the column now, or with a later one that
// is open.
func (r *route) history(w Window, now int) (h history) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reach(now)
	if w == LastMinutes {
		h.first, h.each = max(0, r.at-minuteColumns+1), 1
	} else {
		h.each = 1 << r.merged
	}
	h.columns = make([]column, (r.at-h.first)/h.each+1)
	for i := range h.columns {
		switch {
		case w == LastMinutes:
			r.minutes[(h.first+i)%minuteColumns].addTo(&h.columns[i])
		case i < len(r.start):
			r.start[i].addTo(&h.columns[i])
		}
	}
	h.columns[len(h.columns)-1].merge(&r.open)
	return h
}

// reach makes the column now the open one, unless a later one is.
func (r *route) reach(now int) {
	if now > r.at {
		r.advance(now)
	}
}

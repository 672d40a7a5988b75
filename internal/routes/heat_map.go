package routes

import (
	"time"

	"github.com/perfline/perfline/internal/local"
)

// A HeatMap has the requests of a route by end and by duration.
type HeatMap struct {
	// of the first column: a multiple of ten seconds, unless the system's clock was set
	Start time.Time
	Step  time.Duration // of a column

	// Bounds are the lower bounds of the rows, ascending, and the upper bound of the last row: one
	// more than there are rows. A heat map begins with the lowest row that has requests, and ends
	// with the highest one. Without requests there are no bounds. Durations of more than an hour
	// are all in one row.
	Bounds []time.Duration

	Columns []Column // the oldest first, empty ones included
}

// A Column has the requests that ended in its time.
type Column struct {
	Counts []uint64 // by row
	Failed uint64
}

// HeatMap returns the heat map of a route. Over the last minutes, its cells are the cells that
// [CellOf] returns. It returns false if the table does not have the route.
func (t *Table) HeatMap(route string, class local.Class, w Window) (HeatMap, bool) {
	t.onRead.Call()
	if class >= local.Classes {
		return HeatMap{}, false
	}
	r := t.classes[class].find(NameOf(route))
	if r == nil {
		return HeatMap{}, false
	}
	c := t.readClock()
	h := r.history(w, c.column)
	return newHeatMap(c.columnStart(h.first), time.Duration(h.each)*columnStep, h.columns), true
}

func newHeatMap(start time.Time, step time.Duration, columns []column) HeatMap {
	m := HeatMap{Start: start, Step: step, Columns: make([]Column, len(columns))}
	low, high := rows, 0 // the rows from low to high-1 have requests
	for i := range columns {
		for bucket, n := range &columns[i].counts {
			if n > 0 {
				low, high = min(low, rowOf(bucket)), max(high, rowOf(bucket)+1)
			}
		}
	}
	if low < high {
		for row := low; row <= high; row++ {
			m.Bounds = append(m.Bounds, lowerBound(firstOf(row)))
		}
	}
	for i := range columns {
		counts := make([]uint64, max(0, high-low))
		for bucket, n := range &columns[i].counts {
			if n > 0 {
				counts[rowOf(bucket)-low] += n
			}
		}
		m.Columns[i] = Column{Counts: counts, Failed: columns[i].failed}
	}
	return m
}

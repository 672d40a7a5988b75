package routes

import (
	"time"

	"github.com/perfline/perfline/internal/local"
)

// A HeatMap counts the requests of a route by end time and by duration.
type HeatMap struct {
	// Start of the first column: a multiple of ten seconds, unless the system's clock was set.
	Start time.Time
	Step  time.Duration // of a column

	// Bounds contains the ascending lower bounds of the rows, and then the upper bound of the last
	// row. The first and the last row contain requests. Without requests, Bounds is empty. One row
	// contains all durations of more than an hour.
	Bounds []time.Duration

	Columns []Column // the oldest first, including columns without requests
}

// A Column counts the requests that ended in one period of a heat map.
type Column struct {
	Counts []uint64 // by row
	Failed uint64
}

// HeatMap returns the heat map of a route. For [LastMinutes], the heat map uses the cells of
// [CellOf]. If the table does not contain the route, HeatMap returns false.
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
	x := newAxis(w, c.column)
	columns := make([]column, x.columns)
	r.addTo(columns, x)
	return newHeatMap(c, x, columns), true
}

func newHeatMap(c clock, x axis, columns []column) HeatMap {
	m := HeatMap{Start: c.columnStart(x.first), Step: columnStep << x.merged,
		Columns: make([]Column, len(columns))}
	low, high := rows, 0 // requests are in the rows from low to high-1
	for i := range columns {
		for bucket, n := range &columns[i].counts {
			if n > 0 {
				low, high = min(low, rowOf(bucket)), max(high, rowOf(bucket)+1)
			}
		}
	}
	if low < high {
		for row := low; row <= high; row++ {
			m.Bounds = append(m.Bounds, lowerBound(firstBucket(row)))
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

// A Cell is the position of a request in the heat map of [LastMinutes]. Requests of a route with
// equal Cells share a cell of the heat map. After a change of the system's clock, such requests may
// be in different cells.
type Cell struct {
	Column int64 // of ten seconds, counted from the Unix epoch
	Row    int   // of the duration
}

// CellOf returns the cell of a request with the given end and duration.
func CellOf(end time.Time, took time.Duration) Cell {
	column, into := end.UnixNano()/int64(columnStep), end.UnixNano()%int64(columnStep)
	if into < 0 {
		column--
	}
	return Cell{Column: column, Row: rowOf(bucketOf(took))}
}

package routes

import "time"

// columnStep is the time of a column in the last minutes.
const columnStep = 10 * time.Second

// A Cell is the place of a request in the heat map of its route over the last minutes. Requests of
// a route with equal cells are in the same cell, unless the system's clock was set meanwhile.
type Cell struct {
	Column int64 // ten seconds, since the Unix epoch
	Row    int   // of the duration
}

// CellOf returns the cell of a request by its end and its duration.
func CellOf(end time.Time, took time.Duration) Cell {
	column, into := end.UnixNano()/int64(columnStep), end.UnixNano()%int64(columnStep)
	if into < 0 {
		column--
	}
	return Cell{Column: column, Row: rowOf(bucketOf(took))}
}

package live

import (
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
)

// A groupRow is equal rows, which the page shows as one: see Groups of internal/requests.
type groupRow struct {
	// indices in requestDetail.Rows; some may be left out there
	Rows    []int   `json:"rows"`
	Count   int     `json:"count"`           // spans, also those that are left out
	Below   int     `json:"below,omitempty"` // spans
	Took    float64 `json:"took"`            // in all
	Failed  int     `json:"failed,omitempty"`
	Slowest string  `json:"slowest"` // the span's id
	Longest float64 `json:"longest"` // what that one took
}

// groups returns the groups of which the page has a row. It has the first n rows.
func (l *limits) groups(rows []requests.Row, n int) []groupRow {
	var all []groupRow
	for _, g := range requests.Groups(rows) {
		slowest := rows[g.Slowest].Span
		row := groupRow{Count: len(g.Rows), Below: g.Below, Took: observer.Milliseconds(g.Total),
			Failed:  g.Failed,
			Slowest: slowest.SpanID.String(), Longest: observer.Milliseconds(slowest.Duration())}
		for _, i := range g.Rows {
			if i < n {
				row.Rows = append(row.Rows, i)
			}
		}
		if len(row.Rows) == 0 {
			continue
		}
		if !l.take(row) {
			l.cut.Path++
			continue
		}
		all = append(all, row)
	}
	return all
}

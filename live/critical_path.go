package live

import (
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/observer"
)

// maxShares is the number of names that have a share of the critical path on the page.
const maxShares = 8

// A pathRow is a part of the critical path: see CriticalPath of internal/requests.
type pathRow struct {
	Row   int     `json:"row"` // index in requestDetail.Rows
	Start float64 `json:"start"`
	Took  float64 `json:"took"`
}

// A shareRow is what spans of one name have of the critical path.
type shareRow struct {
	Name  string  `json:"name"`
	Spans int     `json:"spans"` // of the name, on the path
	Took  float64 `json:"took"`
	Row   string  `json:"row"` // the id of the span that has most of it
}

// path returns the critical path in the rows that the page has, and its largest shares.
func (l *limits) path(q requests.Request, rows []requests.Row) ([]pathRow, []shareRow) {
	path := requests.CriticalPath(q)
	at := map[*otlpenc.Span]int{}
	for i, r := range rows {
		at[r.Span] = i
	}
	parts := []pathRow{}
	for _, p := range path {
		i, has := at[p.Span]
		row := pathRow{i, observer.Milliseconds(p.Start), observer.Milliseconds(p.End - p.Start)}
		if !has || !l.take(row) {
			l.cut.Path++
			continue
		}
		parts = append(parts, row)
	}
	shares := []shareRow{}
	all := requests.PathShares(path)
	for _, s := range all[:min(len(all), maxShares)] {
		row := shareRow{shown(s.Name), s.Spans, observer.Milliseconds(s.Time),
			s.Longest.SpanID.String()}
		if l.take(row) {
			shares = append(shares, row)
		}
	}
	return parts, shares
}

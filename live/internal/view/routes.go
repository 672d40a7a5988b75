package view

import (
	"strings"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/stray"
)

// A RoutesData holds the figures of all routes in a window, without details of single requests.
type RoutesData struct {
	Window string     `json:"window"` // start or minutes
	Routes []routeRow `json:"routes"` // routes of all classes
	// all requests, messages and jobs, without streams and inner requests; null for none
	All    *routeRow `json:"all"`
	Health *health   `json:"health"`           // state of the process in the last 5 minutes
	Strays *strays   `json:"strays,omitempty"` // work without a request, since the first request
}

// strays are the queries, commands, calls, messages and marks in contexts without a request. Work
// before the first request does not count, unless no request has started.
type strays struct {
	Sentence string     `json:"sentence"` // numbers, and what to do
	Places   []strayRow `json:"places"`   // the most frequent first; empty in a summary
}

// A strayRow is a place in the program where strays begin.
type strayRow struct {
	What     string `json:"what"`     // query, command, call, message or mark
	Function string `json:"function"` // that begins them; for marks, their name
	Count    uint64 `json:"count"`    // strays
}

// A routeRow holds the figures of a route. Columns are the columns of the route's heat map.
type routeRow struct {
	Route string `json:"route,omitempty"` // name of the route; missing in `all`
	// requests, streams, inner, background or housekeeping
	Class     string   `json:"class"`
	Others    bool     `json:"others,omitempty"`            // sum of routes over the table's limit
	Count     uint64   `json:"count"`                       // requests
	Failed    uint64   `json:"failed"`                      // requests that ended with an error
	PerSecond float64  `json:"perSecond" unit:"1 a second"` // requests a second
	P50       float64  `json:"p50"`                         // median of the durations
	P95       float64  `json:"p95"`                         // 95 of 100 took at most this long
	P99       float64  `json:"p99"`                         // 99 of 100 took at most this long
	Max       float64  `json:"max"`                         // longest duration
	Strip     []uint64 `json:"strip"`                       // requests by column, the oldest first
	FailedIn  []int    `json:"failedIn"`                    // indices of columns with failures
	SlowFrom  *float64 `json:"slowFrom,omitempty"`          // least duration of a slow request
	Slow      string   `json:"slow,omitempty"`              // slowFrom in words, with the reason
}

// NewRoutesData returns the figures of a table in the window w. name is the name of the window. If
// summary is true, the result contains no links to lists of requests, no background routes and no
// places. The program chooses the names of background routes. faults are sentences about the
// set-up.
func NewRoutesData(
	table *routes.Table, name string, w routes.Window, summary bool, lost Losses,
	places []stray.Place, faults []string,
) RoutesData {
	d := RoutesData{Window: name, Routes: []routeRow{}}
	var lines [local.Classes]map[string]routes.Line
	for class := range lines {
		lines[class] = table.Lines(local.Class(class), w)
	}
	for _, s := range table.Summaries(w).Routes {
		if !summary || InSummary(s.Class) {
			row := newRouteRow(s, lines[s.Class][s.Route])
			if from, ok := table.SlowFrom(s.Class, s.Route); ok {
				row.setThreshold(from)
			}
			d.Routes = append(d.Routes, row)
		}
	}
	if total, heat := table.Total(local.Request, w); total.Count > 0 {
		all := newRouteRow(total, lineOf(heat))
		d.All = &all
	}
	d.Health = newHealth(table, lost, faults)
	d.Strays = newStrays(places)
	if summary {
		if d.Strays != nil {
			d.Strays.Places = []strayRow{}
		}
		for i := range d.Health.Concerns {
			c := &d.Health.Concerns[i]
			c.Href = strings.TrimPrefix(c.Href, failedRequests)
		}
	}
	return d
}

func newStrays(places []stray.Place) *strays {
	if len(places) == 0 {
		return nil
	}
	s := &strays{Sentence: stray.Sentence(places)}
	for _, p := range places {
		s.Places = append(s.Places, strayRow{p.What, Shown(p.Function), p.Count})
	}
	return s
}

// InSummary reports whether a summary includes the routes of a class.
func InSummary(c local.Class) bool { return c <= local.Inner }

func newRouteRow(s routes.Summary, line routes.Line) routeRow {
	r := routeRow{
		Route: Shown(s.Route), Class: s.Class.Plural(), Others: s.Route == routes.Others,
		Count: s.Count, Failed: s.Failed, PerSecond: s.PerSecond,
		P50: ms(s.P50), P95: ms(s.P95), P99: ms(s.P99), Max: ms(s.Max),
		Strip: make([]uint64, 0, len(line)), FailedIn: []int{},
	}
	for i, column := range line {
		r.Strip = append(r.Strip, column.Count)
		if column.Failed > 0 {
			r.FailedIn = append(r.FailedIn, i)
		}
	}
	return r
}

func (r *routeRow) setThreshold(from routes.Threshold) {
	r.Slow = from.String()
	if from.From >= 0 {
		least := ms(from.From)
		r.SlowFrom = &least
	}
}

// lineOf sums up the columns of a heat map.
func lineOf(m routes.HeatMap) (line routes.Line) {
	for _, column := range m.Columns {
		c := routes.LineColumn{Failed: column.Failed}
		for _, n := range column.Counts {
			c.Count += n
		}
		line = append(line, c)
	}
	return line
}

const maxHeatRows = 24

// A HeatData is a heat map: numbers of requests by time and duration.
type HeatData struct {
	Start  float64    `json:"start"`  // start of the first column, since the epoch of Unix
	Step   float64    `json:"step"`   // length of a column
	Bounds []float64  `json:"bounds"` // ascending, one more than rows; none without requests
	Counts [][]uint64 `json:"counts"` // requests by column, and then by row
	Failed []uint64   `json:"failed"` // failed requests by column
}

// NewHeatData returns the heat map m with at most maxHeatRows rows. If m contains more rows,
// NewHeatData merges neighbouring rows.
func NewHeatData(m routes.HeatMap) HeatData {
	rows := max(0, len(m.Bounds)-1)
	each := 1 // rows of m in a row
	for (rows+each-1)/each > maxHeatRows {
		each *= 2
	}
	d := HeatData{
		Start: SinceEpoch(m.Start), Step: ms(m.Step), Bounds: []float64{},
		Counts: make([][]uint64, 0, len(m.Columns)), Failed: make([]uint64, 0, len(m.Columns)),
	}
	for row := 0; row < rows; row += each {
		d.Bounds = append(d.Bounds, ms(m.Bounds[row]))
	}
	if rows > 0 {
		d.Bounds = append(d.Bounds, ms(m.Bounds[rows]))
	}
	for _, column := range m.Columns {
		counts := make([]uint64, (rows+each-1)/each)
		for row, n := range column.Counts {
			counts[row/each] += n
		}
		d.Counts = append(d.Counts, counts)
		d.Failed = append(d.Failed, column.Failed)
	}
	return d
}

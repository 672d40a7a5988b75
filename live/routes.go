package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/observer"
)

// routesData has the figures of all routes in a window. It has no detail of a request.
type routesData struct {
	Window string     `json:"window"` // start or minutes
	Routes []routeRow `json:"routes"` // of all classes
	// all requests together, without streams; null if there are none
	All    *routeRow `json:"all"`
	Health *health   `json:"health"` // of the last 5 minutes
}

// routeRow has the figures of a route. Its columns are the columns of its heat map.
type routeRow struct {
	Route string `json:"route,omitempty"` // name of its requests; missing of all together
	Class string `json:"class"`           // requests, streams, background or housekeeping
	// it stands for all routes that the table has no room for
	Others    bool     `json:"others,omitempty"`
	Count     uint64   `json:"count"`
	Failed    uint64   `json:"failed"`
	PerSecond float64  `json:"perSecond"`
	P50       float64  `json:"p50"`
	P95       float64  `json:"p95"`
	P99       float64  `json:"p99"`
	Max       float64  `json:"max"`
	Strip     []uint64 `json:"strip"`    // requests by column, the oldest first
	FailedIn  []int    `json:"failedIn"` // columns with failed requests, the first is 0
}

var windows = map[string]routes.Window{"": routes.LastMinutes, "minutes": routes.LastMinutes,
	"start": routes.SinceStart}

// windowOf reads the window of an address.
func windowOf(r *http.Request) (name string, w routes.Window, err error) {
	name = r.URL.Query().Get("window")
	w, ok := windows[name]
	switch {
	case !ok:
		return "", w, fmt.Errorf("window %q: must be minutes or start", shown(name))
	case name == "":
		name = "minutes"
	}
	return name, w, nil
}

func (h *handler) routes(w http.ResponseWriter, r *http.Request) {
	name, window, err := windowOf(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if !headOnly(w, r) {
		answer(w, h.routesData(name, window))
	}
}

func (h *handler) routesData(name string, w routes.Window) routesData {
	d := routesData{Window: name, Routes: []routeRow{}}
	table := h.recent().Routes()
	var lines [local.Classes]map[string]routes.Line
	for class := range lines {
		lines[class] = table.Lines(local.Class(class), w)
	}
	for _, s := range table.Summaries(w).Routes {
		if h.hasRoutesOf(s.Class) {
			d.Routes = append(d.Routes, newRouteRow(s, lines[s.Class][s.Route]))
		}
	}
	total, heat := table.Total(local.Request, w)
	if total.Count > 0 {
		all := newRouteRow(total, lineOf(heat))
		d.All = &all
	}
	if w != routes.LastMinutes {
		total, heat = table.Total(local.Request, routes.LastMinutes)
	}
	d.Health = newHealth(total, heat, h.losses())
	if h.data == guard.Summary { // a summary has no list of requests
		for i := range d.Health.Concerns {
			d.Health.Concerns[i].Href = strings.TrimPrefix(d.Health.Concerns[i].Href,
				failedRequests)
		}
	}
	return d
}

// hasRoutesOf reports whether the page shows routes of a class. A summary has none of the
// background: their names are free texts of the program.
func (h *handler) hasRoutesOf(c local.Class) bool {
	return h.data != guard.Summary || c <= local.Stream
}

func newRouteRow(s routes.Summary, line routes.Line) routeRow {
	r := routeRow{
		Route: shown(s.Route), Class: s.Class.Plural(), Others: s.Route == routes.Others,
		Count: s.Count, Failed: s.Failed, PerSecond: s.PerSecond,
		P50: observer.Milliseconds(s.P50), P95: observer.Milliseconds(s.P95),
		P99: observer.Milliseconds(s.P99), Max: observer.Milliseconds(s.Max),
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

// routeNamed returns the route of some classes that the page shows by a name, or the name if there
// is none.
func (h *handler) routeNamed(name string, classes ...local.Class) string {
	table := h.recent().Routes()
	for _, class := range classes {
		names := table.Names(class)
		if slices.Contains(names, name) {
			return name
		}
		if i := slices.IndexFunc(names, func(n string) bool { return shown(n) == name }); i >= 0 {
			return names[i]
		}
	}
	return name
}

// A routesCache has the data of the last minutes for the streams of all pages.
type routesCache struct {
	mu   sync.Mutex // guards what follows
	at   time.Time
	data json.RawMessage
}

// maxAge is how old the data is at most, in refreshes of a stream: two seconds as a rule.
const maxAge = 4

// streamedRoutes returns the data of the last minutes, which may be of up to maxAge refreshes ago.
func (h *handler) streamedRoutes() json.RawMessage {
	c := &h.routesCache
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.data == nil || now.Sub(c.at) >= maxAge*h.refresh {
		data, err := json.Marshal(h.routesData("minutes", routes.LastMinutes))
		if err != nil {
			data = json.RawMessage("null") // no number of ours is infinite
		}
		c.at, c.data = now, data
	}
	return c.data
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

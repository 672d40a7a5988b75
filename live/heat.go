package live

import (
	"net/http"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/observer"
)

const maxHeatRows = 24

// A heatData is a heat map for the page.
type heatData struct {
	Start float64 `json:"start"` // of the first column, since the epoch of Unix
	Step  float64 `json:"step"`  // of a column
	// of the rows, ascending: one more than there are rows; none without requests
	Bounds []float64  `json:"bounds"`
	Counts [][]uint64 `json:"counts"` // by column, and then by row
	Failed []uint64   `json:"failed"` // failed requests, by column
}

// heat answers with the heat map of a route, or of all routes of a class together.
func (h *handler) heat(w http.ResponseWriter, r *http.Request) {
	_, window, err := windowOf(r)
	class := local.Request
	if name := r.URL.Query().Get("class"); err == nil && name != "" {
		class, err = parseClass(name)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if !h.hasRoutesOf(class) {
		refuse(w, http.StatusNotFound, onlySummary)
		return
	}
	table := h.recent().Routes()
	var m routes.HeatMap
	if name := r.URL.Query().Get("route"); name == "" {
		_, m = table.Total(class, window)
	} else {
		// empty if no request of the route has ended
		m, _ = table.HeatMap(h.routeNamed(name, class), class, window)
	}
	w.Header().Set("Content-Type", jsonType)
	if !headOnly(w, r) {
		answer(w, newHeatData(m))
	}
}

// newHeatData merges neighbouring rows until there are maxHeatRows at most.
func newHeatData(m routes.HeatMap) heatData {
	rows := max(0, len(m.Bounds)-1)
	each := 1
	for (rows+each-1)/each > maxHeatRows {
		each *= 2
	}
	d := heatData{Start: sinceEpoch(m.Start), Step: observer.Milliseconds(m.Step),
		Bounds: []float64{}, Counts: make([][]uint64, 0, len(m.Columns)),
		Failed: make([]uint64, 0, len(m.Columns))}
	for row := 0; row < rows; row += each {
		d.Bounds = append(d.Bounds, observer.Milliseconds(m.Bounds[row]))
	}
	if rows > 0 {
		d.Bounds = append(d.Bounds, observer.Milliseconds(m.Bounds[rows]))
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

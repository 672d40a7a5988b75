package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/live/internal/view"
)

var windows = map[string]routes.Window{"": routes.LastMinutes, "minutes": routes.LastMinutes,
	"start": routes.SinceStart}

// windowOf reads the window of an address.
func windowOf(r *http.Request) (name string, w routes.Window, err error) {
	name = r.URL.Query().Get("window")
	w, ok := windows[name]
	switch {
	case !ok:
		return "", w, badRequest(
			fmt.Errorf("window %q: must be minutes or start", view.Shown(name)))
	case name == "":
		name = "minutes"
	}
	return name, w, nil
}

func (h *handler) routes(r *http.Request) (maker[view.RoutesData], error) {
	name, window, err := windowOf(r)
	return func(context.Context) (view.RoutesData, error) {
		return h.routesData(name, window), nil
	}, err
}

func (h *handler) routesData(name string, w routes.Window) view.RoutesData {
	return view.NewRoutesData(h.recent().Routes(), name, w, h.data == guard.Summary, h.losses())
}

// losses counts the source's losses. Those after the first sample of its history are recent. All
// are, if it has no sample.
func (h *handler) losses() (l view.Losses) {
	for _, c := range h.source.Counts() {
		if c.Lost {
			l.All += c.N
		}
	}
	l.Recent = l.All
	if h.history == nil {
		return l
	}
	if samples := h.history.Samples(); len(samples) > 0 {
		l.Recent -= min(l.All, samples[0].LostInAll)
	}
	return l
}

func (h *handler) heat(r *http.Request) (maker[view.HeatData], error) {
	_, window, err := windowOf(r)
	if err != nil {
		return nil, err
	}
	class := local.Request
	if name := r.URL.Query().Get("class"); name != "" {
		if class, err = parseClass(name); err != nil {
			return nil, badRequest(err)
		}
	}
	if h.data == guard.Summary && !view.InSummary(class) {
		return nil, errors.New(onlySummary)
	}
	return func(context.Context) (view.HeatData, error) {
		table := h.recent().Routes()
		_, m := table.Total(class, window)
		if name := r.URL.Query().Get("route"); name != "" {
			m, _ = table.HeatMap(h.routeNamed(name, class), class, window) // empty of no request
		}
		return view.NewHeatData(m), nil
	}, nil
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
		if i := slices.IndexFunc(names,
			func(n string) bool { return view.Shown(n) == name }); i >= 0 {
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

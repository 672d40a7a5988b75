package live

import (
	"cmp"
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
	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/internal/stray"
	"github.com/perfline/perfline/live/internal/view"
)

var windows = map[string]routes.Window{"minutes": routes.LastMinutes, "start": routes.SinceStart}

// parseWindow parses the parameter window.
func parseWindow(r *http.Request) (name string, w routes.Window, err error) {
	name = cmp.Or(r.URL.Query().Get("window"), "minutes")
	w, ok := windows[name]
	if !ok {
		err = badRequest(fmt.Errorf("window %q: must be minutes or start", view.Shown(name)))
	}
	return name, w, err
}

func (h *handler) routes(r *http.Request) (builder[view.RoutesData], error) {
	name, window, err := parseWindow(r)
	return func(context.Context) (view.RoutesData, error) {
		return h.routesData(name, window), nil
	}, err
}

func (h *handler) routesData(name string, w routes.Window) view.RoutesData {
	strays := stray.Visible(h.recent().Strays(), h.policy.Shows)
	return view.NewRoutesData(h.recent().Routes(), name, w, h.data == guard.Summary, h.losses(),
		strays, h.faults())
}

// losses counts the source's losses. Recent losses are later than the first sample of the runtime's
// history. Without samples, all losses are recent.
func (h *handler) losses() (l view.Losses) {
	largest := uint64(0)
	for _, c := range h.source.Counts() {
		if c.Lost {
			l.All += c.N
			if c.N > largest {
				largest, l.What = c.N, c.What
			}
		}
	}
	l.Recent = l.All
	if h.history == nil {
		return l
	}
	if samples := h.history.Samples(); len(samples) > 0 {
		l.Recent -= min(l.All, samples[0].LostInAll)
		if l.Recent < l.All {
			l.What = largestLoss(samples[1:])
		}
	}
	return l
}

// largestLoss describes the largest loss of the samples, or returns "" without a loss.
func largestLoss(samples []runtimestats.Sample) (what string) {
	sums := map[string]uint64{}
	for _, s := range samples {
		for _, loss := range s.Losses {
			sums[loss.What] += loss.N
			if n, most := sums[loss.What], sums[what]; n > most {
				what = loss.What
			}
		}
	}
	return what
}

func (h *handler) heat(r *http.Request) (builder[view.HeatData], error) {
	_, window, err := parseWindow(r)
	if err != nil {
		return nil, err
	}
	class, err := parseClass(cmp.Or(r.URL.Query().Get("class"), local.Request.Plural()))
	if err != nil {
		return nil, badRequest(err)
	}
	if h.data == guard.Summary && !view.InSummary(class) {
		return nil, errors.New(onlySummary)
	}
	return func(context.Context) (view.HeatData, error) {
		table := h.recent().Routes()
		_, m := table.Total(class, window)
		if name := r.URL.Query().Get("route"); name != "" {
			m, _ = table.HeatMap(h.routeNamed(name, class), class, window) // empty without requests
		}
		return view.NewHeatData(m), nil
	}, nil
}

// routeNamed returns the route of the classes with a shown name, or the name itself without such a
// route.
func (h *handler) routeNamed(name string, classes ...local.Class) string {
	table := h.recent().Routes()
	for _, class := range classes {
		names := table.Names(class)
		if slices.Contains(names, name) {
			return name
		}
		isNamed := func(n string) bool { return view.Shown(n) == name }
		if i := slices.IndexFunc(names, isNamed); i >= 0 {
			return names[i]
		}
	}
	return name
}

// A routesCache shares the data of the last minutes between the streams of all pages.
type routesCache struct {
	mu   sync.Mutex // guards the fields below
	at   time.Time
	data json.RawMessage
}

// maxAge bounds the age of a routesCache, in refreshes of a stream: two seconds by default.
const maxAge = 4

// streamedRoutes returns the data of the last minutes, at most maxAge refreshes old.
func (h *handler) streamedRoutes() json.RawMessage {
	c := &h.routesCache
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.data == nil || now.Sub(c.at) >= maxAge*h.refresh {
		data, err := json.Marshal(h.routesData("minutes", routes.LastMinutes))
		if err != nil {
			data = json.RawMessage("null") // unreachable: no number is infinite
		}
		c.at, c.data = now, data
	}
	return c.data
}

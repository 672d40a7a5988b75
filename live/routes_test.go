package live_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/live"
)

// count serves the page of a program whose table has at most a number of routes of each kind.
func count(t *testing.T, maxRoutes int, c live.Config) (*program, *routes.Table) {
	t.Helper()
	table := routes.NewTable(routes.Config{MaxRoutes: maxRoutes})
	return &program{t: t, page: live.Handler(quiet{recent: requests.NewRecent(requests.Config{Routes: table})}, c)}, table
}

func (p *program) routes(window string) (d routesData) {
	p.t.Helper()
	p.get("data/v1/routes?window="+window, http.StatusOK, &d)
	return d
}

type heatData struct {
	Start, Step float64
	Bounds      []float64
	Counts      [][]int
	Failed      []int
}

func (p *program) heat(parameters ...string) (h heatData) {
	p.t.Helper()
	p.get("data/v1/routes/heat?"+query(parameters...), http.StatusOK, &h)
	return h
}

// ended returns the end of a request that ends now.
func ended(route string, took time.Duration) local.Root {
	now := time.Now()
	return local.Root{Name: route, Start: now.Add(-took), End: now}
}

// Each route has its figures and its class, in both windows. A heat map has its requests by time and duration.
func TestRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, table := count(t, 2, live.Config{})
		add := func(route string, class local.Class, took time.Duration, failed bool) {
			root := ended(route, took)
			root.Class, root.Failed = class, failed
			table.Add(root)
		}
		add("GET /old", local.Request, time.Second, false)
		time.Sleep(10 * time.Minute)
		for i := range 10 {
			add("GET /new", local.Request, 10*time.Millisecond, i == 0)
		}
		add("GET /no room", local.Request, time.Millisecond, false)
		add("GET /events", local.Stream, time.Minute, false)
		add("tick", local.Background, time.Millisecond, false)
		add("redis.dial", local.Housekeeping, time.Millisecond, false)
		const minutes, start = "GET /new requests 10 1 false|others requests 1 0 true|GET /events streams 1 0 false|tick background 1 0 false|redis.dial housekeeping 1 0 false",
			"GET /new requests 10 1 false|GET /old requests 1 0 false|others requests 1 0 true|GET /events streams 1 0 false|tick background 1 0 false|redis.dial housekeeping 1 0 false"
		for window, want := range map[string]string{"": minutes, "minutes": minutes, "start": start} {
			d := p.routes(window)
			var got []string
			for _, r := range d.Routes {
				name := r.Route
				if r.Others {
					name = "others"
				}
				got = append(got, fmt.Sprint(name, " ", r.Class, " ", r.Count, " ", r.Failed, " ", r.Others))
				sum := 0
				for _, n := range r.Strip {
					sum += n
				}
				if sum != r.Count || (len(r.FailedIn) > 0) != (r.Failed > 0) {
					t.Errorf("window %q: %s: the columns have %d requests, and failures in %v; the route has %d, %d failed", window, name, sum, r.FailedIn, r.Count, r.Failed)
				}
				if r.P50 > r.P95 || r.P95 > r.P99 || r.P99 > r.Max || r.Max == 0 || r.PerSecond == 0 {
					t.Errorf("window %q: %s has the figures %+v", window, name, r)
				}
			}
			if got := strings.Join(got, "|"); got != want {
				t.Errorf("window %q has\n%s\nwant\n%s", window, got, want)
			}
			if all := strings.Count(window, "start") + 11; d.All == nil || d.All.Count != all || d.All.Failed != 1 {
				t.Errorf("window %q: all together are %+v, want %d without the streams", window, d.All, all)
			}
		}

		for _, c := range []struct {
			parameters    []string
			count, failed int
		}{
			{[]string{"route", "GET /new"}, 10, 1},
			{[]string{"route", "GET /old", "window", "start"}, 1, 0},
			{[]string{}, 11, 1},
			{[]string{"window", "start"}, 12, 1},
			{[]string{"route", "GET /events", "class", "streams"}, 1, 0},
			{[]string{"route", "tick", "class", "background"}, 1, 0},
			{[]string{"class", "background"}, 1, 0},
			{[]string{"class", "housekeeping"}, 1, 0},
			{[]string{"route", "redis.dial", "class", "housekeeping"}, 1, 0},
			{[]string{"route", "tick", "class", "streams"}, 0, 0},
		} {
			h := p.heat(c.parameters...)
			count, failed := 0, 0
			for i, column := range h.Counts {
				if len(column) != len(h.Bounds)-1 {
					t.Fatalf("%q: %d rows in a column, and %d bounds", c.parameters, len(column), len(h.Bounds))
				}
				for _, n := range column {
					count += n
				}
				failed += h.Failed[i]
			}
			if count != c.count || failed != c.failed || !slices.IsSorted(h.Bounds) || count > 0 && h.Step < 10_000 {
				t.Errorf("%q: %d requests, %d failed in the map %+v; want %d and %d", c.parameters, count, failed, h, c.count, c.failed)
			}
		}
		for path, want := range map[string]string{
			"routes?window=hour":      `window "hour": must be minutes or start`,
			"routes/heat?window=hour": `window "hour": must be minutes or start`,
			"routes/heat?class=all":   `class "all": must be requests, streams, inner, background or housekeeping`,
		} {
			var got failure
			if p.get("data/v1/"+path, http.StatusBadRequest, &got); got.Error != want {
				t.Errorf("%s: %s, want %s", path, got.Error, want)
			}
		}
	})
}

// A row of a heat map describes the requests that a query with the same bounds finds.
func TestHeatMapBoundsAreExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, table := count(t, 0, live.Config{})
		for took := time.Microsecond; took < time.Hour; took = took * 5 / 4 {
			table.Add(ended("GET /", took))
		}
		h := p.heat("route", "GET /")
		if rows := len(h.Bounds) - 1; rows > 24 || rows < 12 {
			t.Errorf("%d rows, want 12 to 24", rows)
		}
		for i := range len(h.Bounds) - 1 {
			from, to := h.Bounds[i], h.Bounds[i+1]
			want := 0
			for took := time.Microsecond; took < time.Hour; took = took * 5 / 4 {
				if ms := float64(took) / 1e6; ms >= from && ms < to {
					want++
				}
			}
			if got := h.Counts[len(h.Counts)-1][i]; got != want {
				t.Errorf("row %g ms to %g ms: %d requests, want %d", from, to, got, want)
			}
		}
	})
}

// A hostile name is shown as codes, and the page finds the route by the shown name.
func TestHostileRoute(t *testing.T) {
	p, table := count(t, 0, live.Config{})
	table.Add(ended("GET /\u202e"+strings.Repeat("x", 1000), time.Millisecond))
	shown := p.routes("").Routes[0].Route
	if !strings.HasPrefix(shown, `GET /\u202exxx`) || len(shown) > 250 {
		t.Errorf("the route is shown as %q", shown)
	}
	if h := p.heat("route", shown); len(h.Bounds) == 0 {
		t.Error("the route with the shown name has no heat map")
	}
}

// A summary has no routes of the background, and its concerns link to nothing that it does not serve.
func TestSummaryOfRoutes(t *testing.T) {
	p, table := count(t, 0, live.Config{Data: guard.Summary})
	for range 20 {
		failed, secret, pool := ended("GET /", time.Millisecond), ended("secret", time.Millisecond), ended("secret pool", time.Millisecond)
		failed.Failed, secret.Class, pool.Class = true, local.Background, local.Housekeeping
		for _, root := range []local.Root{failed, secret, pool} {
			table.Add(root)
		}
	}
	for _, window := range []string{"minutes", "start"} {
		d := p.routes(window)
		if len(d.Routes) != 1 || d.Routes[0].Route != "GET /" {
			t.Errorf("window %s: routes are %+v, want GET / only", window, d.Routes)
		}
		if len(d.Health.Concerns) == 0 || d.Health.Concerns[0].Href != "" {
			t.Errorf("window %s: concerns are %+v, want one without a link", window, d.Health.Concerns)
		}
	}
	var got failure
	if p.get("data/v1/routes/heat?class=background&route=secret", http.StatusNotFound, &got); !strings.Contains(got.Error, "guard.Everything") {
		t.Errorf("the heat map of the background: %s", got.Error)
	}
}

// All streams share the routes' data, which is made at most every two seconds.
func TestStreamedRoutesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, table := count(t, 0, live.Config{})
		for i, c := range []struct {
			wait time.Duration
			want int
		}{{0, 1}, {time.Second, 1}, {999 * time.Millisecond, 1}, {time.Millisecond, 4}} {
			table.Add(ended("GET /", time.Millisecond))
			time.Sleep(c.wait)
			if got := p.overview().Routes.All; got == nil || got.Count != c.want {
				t.Errorf("look %d: %+v, want %d requests", i, got, c.want)
			}
		}
	})
}

// Each route of requests says from when a request is slow, and why. Streams and background work do not.
func TestRoutesSayWhatIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const usual = 32768 * time.Microsecond // the bound of a bucket: the figure is exact
		p, table := count(t, 0, live.Config{})
		add := func(route string, class local.Class) {
			for range 128 {
				root := ended(route, usual)
				root.Class = class
				table.Add(root)
			}
		}
		add("GET /", local.Request)
		if r := p.routes("").Routes[0]; r.Slow != "" || r.SlowFrom != nil {
			t.Errorf("without a policy, %q is slow from %v, %q", r.Route, r.SlowFrom, r.Slow)
		}
		table.SetSlowRule(&routes.SlowRule{Fixed: time.Second, Factor: 3, Floor: 50 * time.Millisecond, Routes: map[string]time.Duration{"GET /never": -1}})
		add("GET /never", local.Request)
		add("GET /events", local.Stream)
		add("tick", local.Background)
		for _, window := range []string{"minutes", "start"} {
			var got []string
			for _, r := range p.routes(window).Routes {
				from := "no number"
				if r.SlowFrom != nil {
					from = fmt.Sprint(*r.SlowFrom)
				}
				got = append(got, fmt.Sprintf("%s: %s, %s", r.Route, from, r.Slow))
			}
			slices.Sort(got)
			want := []string{"GET /: 98.304, slow from 98 ms (3 × the usual 33 ms)", "GET /events: no number, ", "GET /never: no number, never slow", "tick: no number, "}
			if !slices.Equal(got, want) {
				t.Errorf("window %s has\n%s\nwant\n%s", window, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	})
}

package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/guard"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/stray"
)

// routesArguments are the arguments of list_routes.
type routesArguments struct {
	Window string `json:"window,omitempty" jsonschema:"minutes: the last five minutes; start: since the program began. minutes without it"`
	Sort   string `json:"sort,omitempty" jsonschema:"the figure with the largest first: p99, p50, count, failed. p99 without it"`
	Offset int    `json:"offset,omitempty" jsonschema:"routes to leave out, for the next page"`
	Limit  int    `json:"limit,omitempty" jsonschema:"routes in the answer, from 1 to 100; 30 without it"`
}

const usualRoutes, mostRoutes = 30, 100

// windows maps the argument window of list_routes.
var windows = map[string]routes.Window{"minutes": routes.LastMinutes, "start": routes.SinceStart}

// orders maps the argument sort of list_routes to descending orders.
var orders = map[string]func(a, b routes.Summary) int{
	"p99":    func(a, b routes.Summary) int { return cmp.Compare(b.P99, a.P99) },
	"p50":    func(a, b routes.Summary) int { return cmp.Compare(b.P50, a.P50) },
	"count":  func(a, b routes.Summary) int { return cmp.Compare(b.Count, a.Count) },
	"failed": func(a, b routes.Summary) int { return cmp.Compare(b.Failed, a.Failed) },
}

func (s *server) listRoutes(_ context.Context, _ *mcp.CallToolRequest,
	in routesArguments) (*answer, error) {
	limit, err := pageOf(in.Offset, in.Limit, usualRoutes, mostRoutes)
	if err != nil {
		return nil, err
	}
	window, ok := windows[cmp.Or(in.Window, "minutes")]
	if !ok {
		return nil, refuse("window %s: must be minutes or start", in.Window)
	}
	order, ok := orders[cmp.Or(in.Sort, "p99")]
	if !ok {
		return nil, refuse("sort %s: must be p99, p50, count or failed", in.Sort)
	}
	report := s.recent().Routes().Summaries(window)
	slices.SortStableFunc(report.Routes,
		func(a, b routes.Summary) int { return cmp.Or(cmp.Compare(a.Class, b.Class), order(a, b)) })
	a := new(answer)
	s.writeDeaths(a)
	if n := len(perfline.Check(s.source)); n > 0 {
		a.line("The set-up of the program has %s: %s lists them.", number(n, "fault"), toolCounts)
	}
	if s.recent().SampledOnly() {
		a.line("Only sampled requests are here: OpenTelemetry's SDK makes the spans, and drops the others.")
	}
	a.line("routes from %s to %s: %d, requests before streams and background", moment(report.Start),
		moment(report.End), len(report.Routes))
	if len(report.Routes) == 0 {
		if window == routes.LastMinutes {
			a.suggest(toolListRoutes, routesArguments{Window: "start"}, "since the program began")
		}
		a.suggest(toolCounts, struct{}{}, "what perfline recorded and lost")
		s.addStrays(a)
		return a, nil
	}
	a.line("id, kind, count, count a second, failed, p50 ms, p95 ms, p99 ms, max ms, name; from when a request is slow")
	listed, more := writePage(a, report.Routes, in.Offset, limit, func(r routes.Summary) string {
		return quotef("%s %s %d %.2f %d %s %s %s %s %s%s",
			word(routeID(r.Route)), word(r.Class.Plural()), r.Count, r.PerSecond, r.Failed,
			ms(r.P50), ms(r.P95), ms(r.P99), ms(r.Max), r.Route, s.slowFrom(r))
	})
	if more > 0 {
		in.Offset += len(listed)
		a.suggest(toolListRoutes, in, word(fmt.Sprintf("%d more routes", more)))
	}
	s.addStrays(a)
	if s.data == guard.Everything {
		suggestRoutes(a, listed)
	}
	a.suggest(toolRuntime, struct{}{}, "memory, garbage collection and processors of the process")
	return a, nil
}

// slowFrom returns the threshold of a route for its line, empty without a threshold.
func (s *server) slowFrom(r routes.Summary) word {
	from, ok := s.recent().Routes().SlowFrom(r.Class, r.Route)
	if !ok {
		return ""
	}
	return "; " + word(from.String())
}

const mostStrays = 20 // places in an answer

// addStrays adds the work without a request to an answer: a sentence, and the places in the program
// where such work begins. A summary has no places.
func (s *server) addStrays(a *answer) {
	places := stray.Visible(s.recent().Strays(), s.policy.Shows)
	if len(places) == 0 {
		return
	}
	a.line("%s", word(stray.Sentence(places)))
	if s.data != guard.Everything {
		return
	}
	a.line("without a request since the first request began: count, kind, function or name of marks")
	_, more := writePage(a, places, 0, mostStrays, func(p stray.Place) string {
		return quotef("%d %s %s", p.Count, word(p.What), p.Function)
	})
	if more > 0 {
		a.line("and %d more places", more)
	}
}

// suggestRoutes suggests the requests of the first route, and failed requests.
func suggestRoutes(a *answer, listed []routes.Summary) {
	if len(listed) == 0 {
		return
	}
	of := listArguments{Route: routeID(listed[0].Route), Kind: classArgument(listed[0].Class)}
	a.suggest(toolListRequests, of,
		"the newest requests of the first route; another id gives those of its route")
	of.Sort = slowest
	a.suggest(toolListRequests, of, "its slowest requests in memory")
	if slices.ContainsFunc(listed, func(r routes.Summary) bool { return r.Failed > 0 }) {
		a.suggest(toolListRequests, listArguments{Status: "error"}, "requests that failed")
	}
}

// classArgument returns the argument kind of list_requests for a class, empty for requests.
func classArgument(c local.Class) string {
	if c == local.Request {
		return ""
	}
	return c.Plural()
}

// routeID returns the id of a route, a hash of its name: suggestions must not contain text from
// outside.
func routeID(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return fmt.Sprintf("r%010x", h.Sum64()>>24)
}

// route returns the name of the route for an argument, which is an id or the name. The route of a
// request in memory may be missing in the table of routes, which has a limit.
func (s *server) route(argument string) string {
	if len(argument) != len(routeID("")) || argument[0] != 'r' {
		return argument
	}
	for _, r := range s.recent().Routes().Summaries(routes.SinceStart).Routes {
		if routeID(r.Route) == argument {
			return r.Route
		}
	}
	for _, r := range s.inMemory() {
		if routeID(r.Name) == argument {
			return r.Name
		}
	}
	return argument
}

package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/stray"
)

// leastRequests is the number of requests below which nothing is said about all of them.
const leastRequests = 20

// EarlierProvider is the Rule of a tracer provider that was set before perfline.Start. Start logs
// this fault.
const EarlierProvider = "provider"

func earlierProvider(f *facts) []Finding {
	if f.Earlier == "" {
		return nil
	}
	return []Finding{{
		EarlierProvider,
		fmt.Sprintf("The global tracer provider was set before perfline.Start, to a %s. Tracers "+
			"that packages took before Start keep that provider.", shown(f.Earlier)),
		"Call perfline.Start before otel.SetTracerProvider, or pass the program's provider in " +
			"perfline.Config.TracerProvider: docs/opentelemetry.md.",
	}}
}

// laterProvider finds a provider that replaced the provider of perfline.Start. Requests that arrive
// nevertheless have another way to perfline.
func laterProvider(f *facts) []Finding {
	if f.Later == "" || f.count(local.Request, local.Stream, local.Inner) > 0 {
		return nil
	}
	return []Finding{{
		"later provider",
		fmt.Sprintf("The program set the global tracer provider after perfline.Start, to a %s, and "+
			"no request has reached perfline.", shown(f.Later)),
		"Remove this otel.SetTracerProvider, also where the program switches tracing off. Or pass " +
			"an SDK's provider in perfline.Config.TracerProvider: docs/opentelemetry.md.",
	}}
}

// noRoute finds HTTP requests that all count as one route, although their paths differ. Requests
// that no handler matched need no route.
func noRoute(f *facts) []Finding {
	for _, r := range f.routes {
		if _, path, _ := strings.Cut(r.Route, " /"); r.Class <= local.Stream && path != "" {
			return nil // "METHOD /path"
		}
	}
	paths := map[string]bool{}
	n := 0
	for i := range f.roots {
		s := &f.roots[i].Span
		if s.Kind != trace.SpanKindServer || protocolOf(s) != "http" {
			continue
		}
		route := attributeOf(s, "http.route").AsString()
		if strings.Trim(route, "/") != "" {
			return nil
		}
		switch attributeOf(s, "http.response.status_code", "http.status_code").AsInt64() {
		case 404, 405:
			continue
		}
		n++
		if path := attributeOf(s, "url.path", "http.target").AsString(); path != "" {
			paths[path] = true
		}
	}
	if n < leastRequests || len(paths) < 2 {
		return nil
	}
	return []Finding{{
		"route",
		fmt.Sprintf("None of %d HTTP requests in memory has a route, and their paths differ: %d "+
			"paths count as one route for each method.", n, len(paths)),
		"Wrap the mux itself in bridgehttp.Middleware, or call bridgehttp.SetRoute in a " +
			"middleware of the router: docs/frameworks.md.",
	}}
}

// withoutRequest finds queries, commands, calls, messages and marks that belong to no request.
// Without a request so far, the program is at its start, or serves none. Places in libraries do not
// count. The finding names no functions, because a policy may hide them: the page and the agents'
// tools list the places.
func withoutRequest(f *facts) []Finding {
	own := stray.OfProgram(f.strays)
	n, served := stray.Total(own), f.count(local.Request, local.Stream)
	if !f.served || n < leastRequests || 10*n < served {
		return nil
	}
	numbers, remedy := stray.Describe(own)
	return []Finding{{
		"strays",
		fmt.Sprintf("%s have no request, beside %s: no request shows them. The page lists where "+
			"they begin, in the background.", numbers, number(served, "request")),
		strings.ToUpper(remedy[:1]) + remedy[1:],
	}}
}

// leftStreams finds routes with failures that are no failures if the responses are streams: the
// clients left after a part of the response. A route with other failures in memory is no such
// route.
func leftStreams(f *facts) (all []Finding) {
	left, other := map[string]bool{}, map[string]bool{}
	for i := range f.roots {
		switch s := &f.roots[i].Span; {
		case s.Status.Code != codes.Error:
		case s.Status.Description == local.LeftStream:
			left[s.Name] = true
		default:
			other[s.Name] = true
		}
	}
	for _, r := range f.routes {
		if r.Class != local.Request || r.Failed < leastRequests || 10*r.Failed < r.Count ||
			!left[r.Route] || other[r.Route] {
			continue
		}
		all = append(all, Finding{
			"stream " + r.Route,
			fmt.Sprintf("%d of %s of %s failed, and in memory all of these because the client left "+
				"after a part of the response.", r.Failed, number(r.Count, "request"),
				shown(r.Route)),
			"If the response is a stream, call bridgehttp.SetStream in the handler: docs/streams.md.",
		})
	}
	return all
}

// A pair names the instrumentation scopes of two spans of the same thing.
type pair struct{ outer, inner string }

// doubleServer finds server spans directly below server spans of the same protocol.
func doubleServer(f *facts) []Finding {
	found := map[pair]int{}
	for _, q := range f.whole {
		below := children(q)
		for _, outer := range q.Spans {
			if outer.Kind != trace.SpanKindServer {
				continue
			}
			for _, inner := range below[outer.SpanID] {
				if inner.Kind == trace.SpanKindServer && protocolOf(inner) != "" &&
					protocolOf(inner) == protocolOf(outer) {
					found[pair{outer.Group.Scope().Name, inner.Group.Scope().Name}]++
				}
			}
		}
	}
	return doubles("server", found, len(f.whole), "Keep one instrumentation of the server. "+
		"bridgehttp.Middleware may stay inside otelhttp, not around otelhttp: docs/otelhttp.md.")
}

// doubleClient finds client spans with children that are client spans of another scope for the same
// call. A client that tries a call several times may have a span for each try.
func doubleClient(f *facts) []Finding {
	found, tries := map[pair]int{}, map[pair]bool{}
	for _, q := range f.whole {
		below := children(q)
		for _, outer := range q.Spans {
			all := below[outer.SpanID]
			if outer.Kind != trace.SpanKindClient || len(all) == 0 {
				continue
			}
			protocol := protocolOf(outer)
			p := pair{outer.Group.Scope().Name, all[0].Group.Scope().Name}
			if protocol == "" || p.outer == p.inner {
				continue
			}
			same := true
			for _, inner := range all {
				same = same && inner.Kind == trace.SpanKindClient &&
					protocolOf(inner) == protocol && inner.Group.Scope().Name == p.inner
			}
			switch {
			case !same:
			case len(all) > 1 && protocol != "db": // a query has spans for its parts
				tries[p] = true
			default:
				found[p]++
			}
		}
	}
	for p := range tries {
		delete(found, p)
	}
	return doubles("client", found, len(f.whole),
		"Keep one instrumentation of the client: docs/otelhttp.md and docs/databases.md.")
}

// doubles returns a finding about the pair that occurs most often.
func doubles(kind string, found map[pair]int, whole int, change string) []Finding {
	var most pair
	n := 0
	for p, times := range found {
		if times > n || times == n && fmt.Sprint(p) < fmt.Sprint(most) {
			most, n = p, times
		}
	}
	if n == 0 {
		return nil
	}
	return []Finding{{
		kind + " spans",
		fmt.Sprintf("In %s, perfline found %s of %s spans for the same thing: one of %s, and "+
			"below it one of %s.", number(whole, "request"), number(n, "pair"), kind,
			shown(most.outer), shown(most.inner)),
		change,
	}}
}

// pageKey is the key of an attribute of the spans of requests of perfline's own page and tools.
const pageKey = "perfline.page"

// MarkPage marks the span in ctx: the span is of a request of perfline's own page or tools.
func MarkPage(ctx context.Context) {
	trace.SpanFromContext(ctx).SetAttributes(attribute.Bool(pageKey, true))
}

func tracedPage(f *facts) []Finding {
	isPage := func(r root) bool {
		return r.class <= local.Stream && attributeOf(&r.Span, pageKey).AsBool()
	}
	first := slices.IndexFunc(f.roots, isPage)
	if first < 0 {
		return nil
	}
	n := len(f.roots) - len(slices.DeleteFunc(slices.Clone(f.roots), isPage))
	return []Finding{{
		"page",
		fmt.Sprintf("The requests in memory include %s of perfline's own page or tools, such as "+
			"%s: a middleware wraps the page.", number(n, "request"), shown(f.roots[first].Name)),
		"Put the page outside of the middleware: " +
			"live.Handler(pl, live.Config{Next: bridgehttp.Middleware(mux)}): docs/page.md.",
	}}
}

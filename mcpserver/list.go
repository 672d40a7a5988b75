package mcpserver

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
)

// listArguments are the arguments of list_requests.
type listArguments struct {
	Route     string  `json:"route,omitempty" jsonschema:"id of a route from list_routes, or its exact name"`
	Status    string  `json:"status,omitempty" jsonschema:"ok, error, a class such as 5xx, or a status such as 404"`
	MinMS     float64 `json:"min_ms,omitempty" jsonschema:"least duration in milliseconds"`
	MaxMS     float64 `json:"max_ms,omitempty" jsonschema:"the duration is less than this, in milliseconds"`
	Seconds   float64 `json:"seconds,omitempty" jsonschema:"only requests that ended in the last seconds"`
	Attribute string  `json:"attribute,omitempty" jsonschema:"an attribute of any span or mark, as key or key=value"`
	Text      string  `json:"text,omitempty" jsonschema:"a part of the name of any span or mark; upper and lower case are equal"`
	Kind      string  `json:"kind,omitempty" jsonschema:"requests, streams, inner (inside another request), background or housekeeping; the first three without it"`
	Sort      string  `json:"sort,omitempty" jsonschema:"newest or slowest first; newest without it"`
	After     string  `json:"after,omitempty" jsonschema:"for the next page: id of the last request of the page before"`
	Limit     int     `json:"limit,omitempty" jsonschema:"requests in the answer, from 1 to 100; 20 without it"`
}

const (
	usualRequests, mostRequests = 20, 100
	mostFound                   = 10_000 // more than requests.Recent keeps
	slowest                     = "slowest"
)

// classes maps the argument kind of list_requests to classes.
var classes = map[string][]local.Class{
	"": nil, "requests": {local.Request}, "streams": {local.Stream}, "inner": {local.Inner},
	"background": {local.Background}, "housekeeping": {local.Housekeeping},
}

func (s *server) listRequests(_ context.Context, _ *mcp.CallToolRequest,
	in listArguments) (*answer, error) {
	limit, err := pageOf(0, in.Limit, usualRequests, mostRequests)
	if err != nil {
		return nil, err
	}
	query, err := s.query(in)
	if err != nil {
		return nil, err
	}
	if in.Sort != "" && in.Sort != slowest && in.Sort != "newest" {
		return nil, refuse("sort %s: must be newest or slowest", in.Sort)
	}
	found := requests.Search(query, s.inMemory()) // the newest first
	if in.Sort == slowest {
		slices.SortStableFunc(found,
			func(a, b requests.Snapshot) int { return cmp.Compare(b.Took(), a.Took()) })
	}
	if in.After != "" {
		if found, err = s.after(found, in); err != nil {
			return nil, err
		}
	}
	a := new(answer)
	if len(found) == 0 {
		return s.noRequests(a, in), nil
	}
	place := word("")
	if in.After != "" {
		place = " after the page before"
	}
	a.line("requests in memory that match: %d%s", len(found), place)
	a.line("id, end, duration ms, result, why it is kept, name")
	shown, more := writePage(a, found, 0, limit, requestLine)
	for _, r := range shown {
		s.listed.Add(r)
	}
	first := found[0].SpanID.String()
	a.suggest(toolGetRequest, requestArguments{Request: first},
		"the spans of the first request, and the cause of its duration; another id gives another one")
	if more > 0 {
		next, last := in, shown[len(shown)-1].SpanID
		next.After, next.Route = last.String(), s.safeRoute(in.Route)
		if next.Text == "" && next.Attribute == "" {
			a.suggest(toolListRequests, next, "the next page")
		} else {
			a.line("there are more: call %s again with the same arguments and after %v",
				toolListRequests, last)
		}
	}
	return a, nil
}

// requestLine returns the line of a request in a list.
func requestLine(r requests.Snapshot) string {
	root := r.RootSpan()
	result := word("ok")
	if r.Failed {
		result = "failed"
	}
	if protocol := requests.ProtocolStatus(&root); protocol != "" {
		result += word(quotef(" %s", protocol))
	}
	return quotef("%v %s %s %s %s %s", r.SpanID, moment(r.End), ms(r.Took()), result,
		word(cmp.Or(r.Keep.String(), "-")), r.Name)
}

// query checks the arguments and returns their query.
func (s *server) query(in listArguments) (q requests.Query, err error) {
	kinds, ok := classes[in.Kind]
	if !ok {
		return q, refuse("kind %s: must be requests, streams, inner, background or housekeeping",
			in.Kind)
	}
	const longest = 1e9 // milliseconds
	for _, v := range []struct {
		name  word
		value float64
	}{{"min_ms", in.MinMS}, {"max_ms", in.MaxMS}, {"seconds", in.Seconds}} {
		if v.value < 0 || v.value > longest {
			return q, refuse("%s %g: must be from 0 to %g", v.name, v.value, longest)
		}
	}
	q = requests.Query{
		Status: in.Status, Attribute: in.Attribute, Text: in.Text, Classes: kinds, Limit: mostFound,
		MinTook: time.Duration(in.MinMS * float64(time.Millisecond)),
		MaxTook: time.Duration(in.MaxMS * float64(time.Millisecond)),
	}
	if in.Seconds > 0 {
		q.From = time.Now().Add(-time.Duration(in.Seconds * float64(time.Second)))
	}
	if in.Route != "" {
		q.Route = s.route(in.Route)
	}
	if err := q.Check(); err != nil {
		return q, refuse("arguments of %s: %s", toolListRequests, err)
	}
	return q, nil
}

// after returns the requests after the last request of the previous page. If that request no longer
// matches, after continues where the request would be in the order.
func (s *server) after(found []requests.Snapshot, in listArguments) ([]requests.Snapshot, error) {
	last, err := s.find(in.After)
	if err != nil {
		return nil, refuse("after %s: the request is no longer in memory: call %s again without after", in.After, toolListRequests)
	}
	for i := range found {
		if found[i].ID() == last.ID() {
			return found[i+1:], nil
		}
	}
	for i := range found {
		if in.Sort == slowest && found[i].Took() < last.Took() ||
			in.Sort != slowest && found[i].End.Before(last.End) {
			return found[i:], nil
		}
	}
	return nil, nil
}

// noRequests completes an answer without requests.
func (s *server) noRequests(a *answer, in listArguments) *answer {
	if in.After != "" {
		a.line("no further requests")
	} else {
		a.line("no request in memory matches")
	}
	a.line("Memory has the newest requests, the slowest of the last hour and those that a policy kept.")
	a.line("%s counts also requests whose spans the sampler dropped.", toolListRoutes)
	a.suggest(toolListRequests, struct{}{}, "all requests in memory")
	a.suggest(toolListRoutes, struct{}{}, "routes that had requests in the last minutes")
	return a
}

// safeRoute returns the id of a route for a suggestion.
func (s *server) safeRoute(argument string) string {
	if argument == "" {
		return ""
	}
	return routeID(s.route(argument))
}

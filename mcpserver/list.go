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

// listArguments are of list_requests.
type listArguments struct {
	Route     string  `json:"route,omitempty" jsonschema:"id of a route from list_routes, or its exact name"`
	Status    string  `json:"status,omitempty" jsonschema:"ok, error, a class such as 5xx, or a status such as 404"`
	MinMS     float64 `json:"min_ms,omitempty" jsonschema:"least duration in milliseconds"`
	MaxMS     float64 `json:"max_ms,omitempty" jsonschema:"the duration is less than this, in milliseconds"`
	Seconds   float64 `json:"seconds,omitempty" jsonschema:"only requests that ended in the last seconds"`
	Attribute string  `json:"attribute,omitempty" jsonschema:"an attribute of any span or mark, as key or key=value"`
	Text      string  `json:"text,omitempty" jsonschema:"a part of the name of any span or mark; upper and lower case are equal"`
	Kind      string  `json:"kind,omitempty" jsonschema:"requests, streams, background or housekeeping; requests and streams without it"`
	Sort      string  `json:"sort,omitempty" jsonschema:"newest or slowest first; newest without it"`
	After     string  `json:"after,omitempty" jsonschema:"for the next page: id of the last request of the page before"`
	Limit     int     `json:"limit,omitempty" jsonschema:"requests in the answer, from 1 to 100; 20 without it"`
}

const (
	usualRequests, mostRequests = 20, 100
	mostFound                   = 10_000 // more than requests.Recent keeps
	slowest                     = "slowest"
)

// classes are the kinds of list_requests.
var classes = map[string][]local.Class{
	"": nil, "requests": {local.Request}, "streams": {local.Stream},
	"background": {local.Background}, "housekeeping": {local.Housekeeping},
}

func (s *server) listRequests(_ context.Context, _ *mcp.CallToolRequest, in listArguments) (*answer,
	*refusal) {
	limit, refused := pageOf(0, in.Limit, usualRequests, mostRequests)
	if refused != nil {
		return nil, refused
	}
	query, refused := s.query(in)
	if refused != nil {
		return nil, refused
	}
	if in.Sort != "" && in.Sort != slowest && in.Sort != "newest" {
		return nil, refuse("sort %s: must be newest or slowest", in.Sort)
	}
	found := s.search(query)
	if in.Sort == slowest {
		slices.SortStableFunc(found, bySlowest)
	}
	if in.After != "" {
		if found, refused = s.after(found, in); refused != nil {
			return nil, refused
		}
	}
	a := new(answer)
	if len(found) == 0 {
		return s.noRequests(a, in), nil
	}
	a.line("requests in memory that match: %d%s", len(found),
		word(map[bool]string{true: " after the page before"}[in.After != ""]))
	a.line("id, end, duration ms, result, why it is kept, name")
	shown, more := writePage(a, found, 0, limit, listedLine)
	for _, one := range shown {
		s.listed.Add(one)
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

// listedLine returns the line of a request in a list.
func listedLine(of requests.Snapshot) []string {
	root := of.RootSpan()
	result := word("ok")
	if of.Failed {
		result = "failed"
	}
	if protocol := requests.ProtocolStatus(&root); protocol != "" {
		result += word(formatted(" %s", protocol))
	}
	kept := word(cmp.Or(of.Keep.String(), "-"))
	return []string{formatted("%v %s %s %s %s %s",
		of.SpanID, moment(of.End), ms(of.Took()), result, kept, of.Name)}
}

// query returns the query of arguments.
func (s *server) query(in listArguments) (q requests.Query, refused *refusal) {
	kinds, ok := classes[in.Kind]
	if !ok {
		return q, refuse("kind %s: must be requests, streams, background or housekeeping", in.Kind)
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

// search returns the requests of a query, the newest first: those in memory, and those that answers
// named before.
func (s *server) search(q requests.Query) []requests.Snapshot {
	return requests.Search(q, s.inMemory())
}

// bySlowest sorts requests, the longest one first.
func bySlowest(a, b requests.Snapshot) int {
	return cmp.Compare(b.Took(), a.Took())
}

// after returns the requests after the one that ended the page before. That one may have left
// memory: then its place counts.
func (s *server) after(found []requests.Snapshot, in listArguments) ([]requests.Snapshot,
	*refusal) {
	last, refused := s.find(in.After)
	if refused != nil {
		return nil, refuse("after %s: the request is no longer in memory: call %s again without after", in.After, toolListRequests)
	}
	for i, one := range found {
		if one.ID() == last.ID() {
			return found[i+1:], nil
		}
	}
	i := 0
	for i < len(found) {
		one := &found[i]
		if in.Sort == slowest && one.Took() < last.Took() || in.Sort != slowest &&
			one.End.Before(last.End) {
			break
		}
		i++
	}
	return found[i:], nil
}

// noRequests answers that there are none.
func (s *server) noRequests(a *answer, in listArguments) *answer {
	if in.After != "" {
		a.line("no further requests")
	} else {
		a.line("no request in memory matches")
	}
	a.line("Memory has the newest requests, the slowest of the last hour and those that a policy kept.")
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

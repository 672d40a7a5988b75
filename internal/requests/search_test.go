package requests_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/routes"
)

func attributes(kvs ...attribute.KeyValue) func(*tracetest.SpanStub) {
	return func(s *tracetest.SpanStub) { s.Attributes = append(s.Attributes, kvs...) }
}

func kind(k trace.SpanKind) func(*tracetest.SpanStub) {
	return func(s *tracetest.SpanStub) { s.SpanKind = k }
}

func failed(s *tracetest.SpanStub) { s.Status = sdktrace.Status{Code: codes.Error} }

func namesOf(all []requests.Snapshot) (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

func TestSearch(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	code := func(n int) func(*tracetest.SpanStub) {
		return attributes(attribute.Int("http.response.status_code", n))
	}
	for _, s := range []sdktrace.ReadOnlySpan{
		span(1, 1, 0, "GET /a", 0, 10*ms, code(200)),
		span(2, 2, 1, "load", 0, 5*ms, attributes(attribute.String("table", "orders"), attribute.Int("rows", 7))),
		span(2, 1, 0, "GET /b", 0, 20*ms, code(503), failed, event("cache.Miss", ms, attribute.Bool("cold", true))),
		span(3, 1, 0, "grpc", 0, 30*ms, attributes(attribute.String("rpc.response.status_code", "UNAVAILABLE"))),
		span(4, 1, 0, "events", 0, 5000*ms, code(200), attributes(attribute.Bool(record.StreamKey, true))),
		span(5, 1, 0, "tick", 0, 40*ms, kind(trace.SpanKindInternal)),
		span(6, 1, 0, "redis.dial", 0, 50*ms, kind(trace.SpanKindClient)),
		span(7, 1, 0, "500", 0, 60*ms, attributes(attribute.Int("rpc.grpc.status_code", 5))),
	} {
		r.OnEnd(s)
	}
	at := base.Add
	for _, c := range []struct {
		name  string
		query requests.Query
		want  []string
	}{
		{"any", requests.Query{}, []string{"events", "500", "grpc", "GET /b", "GET /a"}},
		{"some", requests.Query{Limit: 2}, []string{"events", "500"}},
		{"not valid", requests.Query{Limit: -1}, nil},
		{"route", requests.Query{Route: "GET /a"}, []string{"GET /a"}},
		{"part of a route", requests.Query{Route: "GET /"}, nil},
		{"status", requests.Query{Status: "503"}, []string{"GET /b"}},
		{"class of status", requests.Query{Status: "2xx"}, []string{"events", "GET /a"}},
		{"class of status in upper case", requests.Query{Status: "2XX"}, []string{"events", "GET /a"}},
		{"a code that is no class", requests.Query{Status: "5"}, []string{"500"}},
		{"status in words", requests.Query{Status: "unavailable"}, []string{"grpc"}},
		{"failed", requests.Query{Status: "error"}, []string{"GET /b"}},
		{"not failed", requests.Query{Status: "ok"}, []string{"events", "500", "grpc", "GET /a"}},
		{"at least", requests.Query{MinTook: 30 * ms}, []string{"events", "500", "grpc"}},
		{"less than", requests.Query{MaxTook: 20 * ms}, []string{"GET /a"}},
		{"since", requests.Query{From: at(60 * ms)}, []string{"events", "500"}},
		{"before", requests.Query{To: at(20 * ms)}, []string{"GET /a"}},
		{"key", requests.Query{Attribute: "table"}, []string{"GET /b"}},
		{"key of a mark", requests.Query{Attribute: "cold"}, []string{"GET /b"}},
		{"value", requests.Query{Attribute: "table=orders"}, []string{"GET /b"}},
		{"another value", requests.Query{Attribute: "table=order"}, nil},
		{"a value that is no text", requests.Query{Attribute: "rows=7"}, []string{"GET /b"}},
		{"no value", requests.Query{Attribute: "table="}, nil},
		{"the end of a key", requests.Query{Attribute: "able"}, nil},
		{"text of a mark", requests.Query{Text: "E.MISS"}, []string{"GET /b"}},
		{"text of a span", requests.Query{Text: "LOA"}, []string{"GET /b"}},
		{"trace", requests.Query{Text: "00000301"}, []string{"grpc"}},
		{"the end of a trace id", requests.Query{Text: "0000000000"}, nil},
		{"text and attribute in different spans", requests.Query{Text: "load", Attribute: "cold=true"}, []string{"GET /b"}},
		{"text and attribute of different requests", requests.Query{Text: "GET /a", Attribute: "cold"}, nil},
		{"requests", requests.Query{Classes: []local.Class{local.Request}}, []string{"500", "grpc", "GET /b", "GET /a"}},
		{"streams", requests.Query{Classes: []local.Class{local.Stream}}, []string{"events"}},
		{"background", requests.Query{Classes: []local.Class{local.Background}}, []string{"tick"}},
		{"housekeeping", requests.Query{Classes: []local.Class{local.Housekeeping}}, []string{"redis.dial"}},
		{"all classes", requests.Query{Classes: []local.Class{local.Request, local.Stream, local.Background, local.Housekeeping}}, []string{"events", "500", "redis.dial", "tick", "grpc", "GET /b", "GET /a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := namesOf(requests.Search(c.query, r.All())); !slices.Equal(got, c.want) {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

// An attribute of another request of the same trace is not the request's own.
func TestSearchWithinATrace(t *testing.T) {
	r := requests.NewRecent(requests.Config{})
	r.OnEnd(span(1, 2, 1, "call", 0, ms, attributes(attribute.String("of", "outer"))))
	r.OnEnd(span(1, 3, 2, "inner", 0, 2*ms, remote))
	r.OnEnd(span(1, 1, 0, "outer", 0, 3*ms))
	if got := namesOf(requests.Search(requests.Query{Attribute: "of=outer"}, r.All())); !slices.Equal(got, []string{"outer"}) {
		t.Errorf("found %q, want the outer request only", got)
	}
}

// A cell of a heat map has a request to show, also when the newest requests are of other cells.
func TestSearchFindsExamples(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 1, Slowest: -1})
	r.OnEnd(span(1, 1, 0, "GET /", 0, 10*ms))
	r.OnEnd(span(2, 1, 0, "GET /other", 0, 20*ms))
	if got := namesOf(requests.Search(requests.Query{Route: "GET /"}, r.All())); !slices.Equal(got, []string{"GET /"}) {
		t.Errorf("found %q, want the example of the cell", got)
	}
}

// A request that is in several lists is found once, in the list that comes first.
func TestSearchFindsEachOnce(t *testing.T) {
	before, now := requests.NewRecent(requests.Config{}), requests.NewRecent(requests.Config{})
	root := span(1, 1, 0, "a", 0, ms)
	before.OnEnd(root)
	now.OnEnd(root)
	now.OnEnd(span(1, 2, 1, "late", 0, ms))
	found := requests.Search(requests.Query{}, now.Requests(), before.Requests())
	if len(found) != 1 || len(found[0].Request().Spans) != 2 {
		t.Errorf("found %q, want one request, with the span that came late", namesOf(found))
	}
}

// A table of routes cuts long names. The requests of such a route are found by both names.
func TestSearchFindsLongNames(t *testing.T) {
	table, r := routes.NewTable(routes.Config{}), requests.NewRecent(requests.Config{})
	long := "GET /" + strings.Repeat("ü", 200)
	for i, name := range []string{long, "GET /"} {
		r.OnEnd(span(i+1, 1, 0, name, 0, ms))
	}
	table.Add(local.Root{Name: long, End: time.Now()})
	for _, name := range []string{long, table.Names(local.Request)[0]} {
		if got := namesOf(requests.Search(requests.Query{Route: name}, r.All())); !slices.Equal(got, []string{long}) {
			t.Errorf("of route %q the search found %q", name, got)
		}
		if got := namesOf(requests.OfRoute(r.All(), name)); !slices.Equal(got, []string{long}) {
			t.Errorf("of route %q there is %q", name, got)
		}
	}
}

// Search finds the same as a filter that looks at every span of every request in every list.
func TestSearchIsAFilter(t *testing.T) {
	routes, texts := []string{"", "r0", "r1"}, []string{"", "M1", "x"}
	matched := 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		pick := func(all []string) string { return all[max(0, rnd.IntN(3*len(all))-2*len(all))] } // mostly the first, which is any
		r := requests.NewRecent(requests.Config{Requests: 1 + rnd.IntN(8), Slowest: 1 + rnd.IntN(4), Background: 4, KeptRequests: 3, Examples: rnd.IntN(10) - 1})
		for i := range 40 {
			s := span(1+rnd.IntN(20), i+1, 0, fmt.Sprint("r", rnd.IntN(3)), 0, time.Duration(1+rnd.IntN(6))*ms, func(s *tracetest.SpanStub) {
				s.SpanKind = []trace.SpanKind{trace.SpanKindServer, trace.SpanKindInternal}[rnd.IntN(2)]
				for range rnd.IntN(3) {
					s.Attributes = append(s.Attributes, attribute.Int(fmt.Sprint("k", rnd.IntN(3)), rnd.IntN(3)))
				}
				if rnd.IntN(3) == 0 {
					event(fmt.Sprint("m", rnd.IntN(3)), 0, attribute.String("k2", "text"))(s)
				}
				if rnd.IntN(2) == 0 {
					failed(s)
				}
				if rnd.IntN(4) == 0 {
					s.Attributes = append(s.Attributes, attribute.Bool(record.StreamKey, true))
				}
			})
			r.OnEnd(s)
			r.OnEnd(span(1+rnd.IntN(20), 100+i, 1+i, fmt.Sprint("m", rnd.IntN(4)), 0, ms, attributes(attribute.Int("k1", rnd.IntN(3)))))
		}
		q := requests.Query{
			Route: pick(routes), Text: pick(texts), Status: pick([]string{"", "ok", "error"}), Attribute: pick([]string{"", "k0", "k1=2", "k2=text"}),
			MinTook: time.Duration(rnd.IntN(3)) * ms, Classes: anyClasses(rnd), Limit: 1 + rnd.IntN(30),
		}
		if rnd.IntN(3) == 0 {
			q.MaxTook = time.Duration(4+rnd.IntN(3)) * ms
		}
		if rnd.IntN(3) == 0 {
			q.From, q.To = base.Add(time.Duration(rnd.IntN(3))*ms), base.Add(time.Duration(4+rnd.IntN(3))*ms)
		}
		got, want := requests.Search(q, r.All()), naive(r, q)
		matched += len(want)
		ids := func(all []requests.Snapshot) (out []string) {
			for _, s := range all {
				out = append(out, s.SpanID.String())
			}
			return out
		}
		if limit := min(len(want), q.Limit); len(got) != limit {
			t.Fatalf("seed %d: %+v finds %d requests, want %d", seed, q, len(got), limit)
		}
		for i, id := range ids(got) {
			if !slices.Contains(ids(want), id) {
				t.Errorf("seed %d: %+v finds %s, which it does not describe", seed, q, id)
			}
			if i > 0 && got[i].End.After(got[i-1].End) {
				t.Errorf("seed %d: request %d ended after the one before it", seed, i)
			}
		}
	}
	if matched < 300 {
		t.Errorf("%d requests were found in all: too few to compare", matched)
	}
}

// naive decodes all requests of r and returns those that q describes.
func naive(r *requests.Recent, q requests.Query) (found []requests.Snapshot) {
	seen := map[string]bool{}
	for _, s := range r.All() {
		request := s.Request()
		root := request.Root
		if seen[root.SpanID.String()] {
			continue
		}
		var names, attrs []string
		for _, one := range request.Spans {
			names = append(names, one.Name)
			kvs := slices.Clone(one.Attributes)
			for _, e := range one.Events {
				names, kvs = append(names, e.Name), append(kvs, e.Attributes...)
			}
			for _, kv := range kvs {
				attrs = append(attrs, string(kv.Key), string(kv.Key)+"="+kv.Value.String())
			}
		}
		inText := func(name string) bool { return strings.Contains(name, strings.ToLower(q.Text)) }
		if isClass(root, q.Classes) && (q.Route == "" || root.Name == q.Route) &&
			(q.Status == "" || (root.Status.Code == codes.Error) == (q.Status == "error")) &&
			root.Duration() >= q.MinTook && (q.MaxTook == 0 || root.Duration() < q.MaxTook) &&
			(q.From.IsZero() || !root.End.Before(q.From)) && (q.To.IsZero() || root.End.Before(q.To)) &&
			(q.Attribute == "" || slices.Contains(attrs, q.Attribute)) && slices.ContainsFunc(names, inText) {
			seen[root.SpanID.String()] = true
			found = append(found, s)
		}
	}
	return found
}

// anyClasses returns what half of the queries look for: some classes.
func anyClasses(r *rand.Rand) (classes []local.Class) {
	if r.IntN(2) == 0 {
		return nil
	}
	for range 1 + r.IntN(2) {
		classes = append(classes, local.Class(r.IntN(local.Classes)))
	}
	return classes
}

// isClass reports whether a request is of one of some classes. No name here is of housekeeping.
func isClass(root *otlpenc.Span, classes []local.Class) bool {
	class := local.Background
	switch {
	case root.Kind != trace.SpanKindServer:
	case slices.Contains(root.Attributes, attribute.Bool(record.StreamKey, true)):
		class = local.Stream
	default:
		class = local.Request
	}
	if classes == nil {
		return class <= local.Inner
	}
	return slices.Contains(classes, class)
}

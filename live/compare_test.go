package live_test

import (
	public "github.com/perfline/perfline/requests"

	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

// The parts of a comparison that tests look at.
type (
	compared struct {
		A, B      comparedSide
		Median    float64
		Chosen    bool
		Sentence  string
		Spans     []comparedSpan
		Order     []int
		SpansCut  int
		BarsCut   int
		Waits     []struct{ Kind string }
		Functions []struct{ Name string }
		Choices   []row

		ChoicesCut int
	}
	comparedSide struct {
		row
		Waits   bool
		Samples int
	}
	comparedSpan struct {
		Name          string
		Parent, Depth int
		A, B          struct {
			Count           int
			Total, Critical float64
			Bars            []struct{ Start, Took float64 }
		}
	}
)

// queries returns a handler that makes n measures below another one.
func queries(n int) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		ctx, load := marks.Start(r.Context(), "load")
		for i := range n {
			_, m := marks.Start(ctx, fmt.Sprintf("query %d", i%400))
			m.End()
		}
		load.End()
	}
}

func TestCompare(t *testing.T) {
	p := start(t, allowed, live.Config{})
	const route = "GET /cart"
	for _, n := range []int{1, 1, 4} {
		p.serve(route, "/cart", queries(n))
	}
	p.serve("GET /other", "/other", queries(1))
	p.serve(route, "/cart", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	all := p.overview().Requests.Requests // the newest first
	slow, usual := all[2], all[3]
	var c compared
	p.get("data/v1/compare?a="+slow.Trace+"/"+slow.Span+"&b="+usual.Trace+"/"+usual.Span, http.StatusOK, &c)
	if c.A.row != slow || c.B.row != usual || !c.Chosen || c.Median != 0 || c.Sentence == "" {
		t.Errorf("compared are %+v, by choice %t; want %+v and %+v", c, c.Chosen, slow, usual)
	}
	if len(c.Spans) != 6 || c.Spans[0].Name != route || c.Spans[1].Name != "load" || c.Spans[2].Parent != 1 || c.Spans[5].B.Count != 0 || c.Spans[5].A.Count != 1 {
		t.Errorf("spans are %+v, want a tree in which query 3 is only in A", c.Spans)
	}
	var difference float64
	for i, at := range c.Order {
		d := c.Spans[at]
		difference += d.A.Critical - d.B.Critical
		if len(d.A.Bars) != d.A.Count || len(d.B.Bars) != d.B.Count {
			t.Errorf("%s has %d and %d bars for %d and %d spans", d.Name, len(d.A.Bars), len(d.B.Bars), d.A.Count, d.B.Count)
		}
		if before := c.Spans[c.Order[max(0, i-1)]]; math.Abs(before.A.Critical-before.B.Critical) < math.Abs(d.A.Critical-d.B.Critical) {
			t.Errorf("%s comes after a smaller difference", d.Name)
		}
	}
	if len(c.Order) != len(c.Spans) || math.Abs(difference-(c.A.Took-c.B.Took)) > 1e-6 {
		t.Errorf("the differences of %d spans add up to %v, want %v", len(c.Order), difference, c.A.Took-c.B.Took)
	}
	// The failed one and the other usual one can be selected.
	if len(c.Choices) != 2 || c.Choices[0] != all[0] || c.Choices[1] != all[4] {
		t.Errorf("choices are %+v, want %+v and %+v", c.Choices, all[0], all[4])
	}
	if c.A.Waits || c.A.Samples != 0 || len(c.Waits) != 0 || len(c.Functions) != 0 {
		t.Errorf("waits and functions are %+v, want none", c)
	}
}

// Without b, a usual request of the route is selected, never one that failed.
func TestCompareWithUsual(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.serve("GET /cart", "/cart", queries(1))
	p.serve("GET /cart", "/cart", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	p.serve("GET /cart", "/cart", queries(20))
	all := p.overview().Requests.Requests
	var c compared
	p.get("data/v1/compare?a="+all[0].Trace+"/"+all[0].Span, http.StatusOK, &c)
	if c.A.row != all[0] || c.B.row != all[2] || c.Chosen || c.Median <= 0 {
		t.Errorf("compared are %+v and %+v by the median %v, want the requests without an error", c.A, c.B, c.Median)
	}
}

// Links to compared requests work when newer requests have taken their places.
func TestComparedRequestsStay(t *testing.T) {
	p := start(t, perfline.Config{Recent: public.Config{Newest: 2, Slowest: -1}}, live.Config{})
	for range 2 {
		p.serve("GET /cart", "/cart", queries(1))
	}
	newest := stored(p.pl).Requests()
	path := fmt.Sprintf("data/v1/compare?a=%s/%s&b=%s/%s", newest[0].TraceID, newest[0].SpanID, newest[1].TraceID, newest[1].SpanID)
	p.get(path, http.StatusOK, nil)
	for range 2 {
		p.serve("GET /new", "/new", queries(1))
	}
	p.get(path, http.StatusOK, nil)
}

func TestCompareRefused(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.serve("GET /a\u202e", "/a\u202e", queries(1))
	only := p.overview().Requests.Requests[0]
	a := only.Trace + "/" + only.Span
	const gone = "0102030405060708090a0b0c0d0e0f10/0102030405060708"
	for _, c := range []struct{ name, query, want string }{
		{"no a", "", `request "": must be the ids of a trace and its root span`},
		{"no ids", "a=" + url.QueryEscape("x\u202e"), `request "x\u202e": must be`},
		{"a is gone", "a=" + gone, "not in memory"},
		{"b is gone", "a=" + a + "&b=" + gone, "not in memory"},
		{"b is empty", "a=" + a + "&b=", `request "": must be`},
		{"no usual one", "a=" + a, `no other request GET /a\u202e without an error is in memory: send one, and compare again`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			var f failure
			p.get("data/v1/compare?"+c.query, http.StatusNotFound, &f)
			if !strings.Contains(f.Error, c.want) {
				t.Errorf("error is %q, want %q", f.Error, c.want)
			}
		})
	}
}

// However many spans there are, the data is bounded, and counts the rest.
func TestCompareIsBounded(t *testing.T) {
	p := start(t, perfline.Config{Recent: public.Config{MaxSpans: 5000}}, live.Config{})
	for range 2 {
		p.serve("GET /cart", "/cart", queries(1500))
	}
	all := p.overview().Requests.Requests
	var c compared
	p.get("data/v1/compare?a="+all[0].Trace+"/"+all[0].Span, http.StatusOK, &c)
	bars := 0
	for i, d := range c.Spans {
		bars += len(d.A.Bars)
		if d.Parent >= i || i > 0 && c.Spans[d.Parent].Depth != d.Depth-1 {
			t.Errorf("%s at %d has the parent %d", d.Name, i, d.Parent)
		}
	}
	if len(c.Spans) != 300 || c.SpansCut != 102 || len(c.Order) != 300 || bars > 1000 || c.BarsCut == 0 {
		t.Errorf("%d paths, %d left out; %d bars, %d left out", len(c.Spans), c.SpansCut, bars, c.BarsCut)
	}
}

// Each request of the route is listed or counted.
func TestChoicesAreBounded(t *testing.T) {
	p := start(t, perfline.Config{Recent: public.Config{Newest: 100, Slowest: -1}}, live.Config{})
	for range 63 {
		p.serve("GET /cart", "/cart", queries(1))
	}
	newest := p.overview().Requests.Requests[0]
	var c compared
	p.get("data/v1/compare?a="+newest.Trace+"/"+newest.Span, http.StatusOK, &c)
	if len(c.Choices) != 60 || c.ChoicesCut != 1 {
		t.Errorf("%d requests can be chosen, %d are left out, want 60 and 1", len(c.Choices), c.ChoicesCut)
	}
}

// Without counts of its route, a usual request has the median of the requests in memory.
func TestCompareWithoutRoutes(t *testing.T) {
	recent := requests.NewRecent(requests.Config{})
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recent)).Tracer("shop")
	for range 2 {
		_, span := tracer.Start(t.Context(), "GET /cart", trace.WithSpanKind(trace.SpanKindServer))
		span.End()
	}
	p := &program{t: t, page: live.Handler(quiet{recent: recent}, live.Config{})}
	all := p.overview().Requests.Requests
	var c compared
	p.get("data/v1/compare?a="+all[0].Trace+"/"+all[0].Span, http.StatusOK, &c)
	if c.B.row != all[1] || c.Median != 0 {
		t.Errorf("compared with %+v, median %v, want %+v and 0", c.B.row, c.Median, all[1])
	}
}

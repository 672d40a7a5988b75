package live_test

import (
	public "github.com/perfline/perfline/requests"

	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	otelattribute "go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/live"
	"github.com/perfline/perfline/marks"
)

func TestOverview(t *testing.T) {
	p := start(t, allowed, live.Config{})
	for range 2 {
		p.serve("GET /products/{id}", "/products/7", func(http.ResponseWriter, *http.Request) {})
	}
	p.serve("POST /orders", "/orders", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	o := p.overview()
	if o.Requests.Service != "shop" || len(o.Requests.Requests) != 3 || len(o.Requests.Slowest) != 3 {
		t.Fatalf("got %+v", o.Requests)
	}
	if r := o.Requests.Requests[0]; r.Name != "POST /orders" || r.Status != "502" || !r.Failed || r.Took <= 0 {
		t.Errorf("newest is %+v", r)
	}
	if r := o.Requests.Requests[1]; r.Name != "GET /products/{id}" || r.Status != "200" || r.Failed {
		t.Errorf("the one before is %+v", r)
	}
	for _, r := range o.Routes.Routes {
		want := map[string][2]int{"GET /products/{id}": {2, 0}, "POST /orders": {1, 1}}[r.Route]
		if [2]int{r.Count, r.Failed} != want || r.P50 > r.Max || r.Max <= 0 {
			t.Errorf("route is %+v, want count and failed %v", r, want)
		}
	}
	if len(o.Routes.Routes) != 2 {
		t.Errorf("routes are %+v", o.Routes.Routes)
	}
	counted := map[string]uint64{}
	for _, c := range o.Counts {
		if c.What == "" {
			t.Errorf("%s %s %s says not what it is", c.Group, c.Kind, c.Name)
		}
		counted[strings.Join([]string{c.Group, c.Kind, c.Name}, " ")] = c.N
	}
	if counted["perfline.spans  other"] != 3 || counted["perfline.recent  requests"] != 3 {
		t.Errorf("counts are %v", counted)
	}
}

// The page's first request is the one that ended last, in whatever order requests arrive.
func TestOverviewByEnd(t *testing.T) {
	p := start(t, allowed, live.Config{})
	tracer, at := p.pl.TracerProvider().Tracer("test"), time.Now()
	for _, after := range []time.Duration{time.Second, 3 * time.Second, 2 * time.Second} {
		for _, kind := range []trace.SpanKind{trace.SpanKindServer, trace.SpanKindInternal} {
			_, s := tracer.Start(t.Context(), after.String(), trace.WithSpanKind(kind), trace.WithTimestamp(at))
			s.End(trace.WithTimestamp(at.Add(after)))
		}
	}
	o := p.overview()
	var names []string
	for _, r := range o.Requests.Requests {
		names = append(names, r.Name)
	}
	for _, r := range o.Requests.Background {
		names = append(names, r.Name)
	}
	if got := strings.Join(names, " "); got != "3s 2s 1s 3s 2s 1s" {
		t.Errorf("the requests are %q, want the newest end first", got)
	}
}

func TestRequest(t *testing.T) {
	p := start(t, allowed, live.Config{})
	p.serve("GET /cart", "/cart", func(_ http.ResponseWriter, r *http.Request) {
		ctx, checkout := marks.Start(r.Context(), "checkout", slog.Int("items", 3))
		marks.Mark(ctx, "paid", slog.String("by", "card"))
		marks.Time(ctx, "mail").End()
		checkout.End()
	})
	d := p.detail()
	if d.Name != "GET /cart" || len(d.Rows) != 3 || len(d.Resource) == 0 {
		t.Fatalf("got %+v", d)
	}
	var tree []string
	for _, r := range d.Rows {
		tree = append(tree, fmt.Sprintf("%d %s %s", r.Depth, r.Kind, r.Name))
		if r.Start < 0 || r.Start+r.Took > d.Took {
			t.Errorf("%s is from %v for %v ms, its request is %v ms", r.Name, r.Start, r.Took, d.Took)
		}
	}
	if got, want := strings.Join(tree, ", "), "0 server GET /cart, 1 measure checkout, 2 measure mail"; got != want {
		t.Errorf("rows are %s, want %s", got, want)
	}
	checkout := d.Rows[1]
	if len(checkout.Attributes) != 1 || checkout.Attributes[0] != (attribute{"items", "3"}) {
		t.Errorf("attributes are %v", checkout.Attributes)
	}
	if m := checkout.Marks; len(m) != 1 || m[0].Name != "paid" || m[0].At < checkout.Start || m[0].Attributes[0] != (attribute{"by", "card"}) {
		t.Errorf("marks are %+v", m)
	}
	rec := p.do(ask(http.MethodGet, "data/v1/requests/"+d.Trace+"/"+d.Span+"/svg", ""))
	if rec.Code != http.StatusOK || !strings.HasPrefix(rec.Body.String(), "<svg") ||
		!strings.HasPrefix(rec.Header().Get("Content-Disposition"), "attachment") || rec.Header().Get("Content-Type") != "image/svg+xml" {
		t.Errorf("the picture is %d %v %.40q", rec.Code, rec.Header(), rec.Body)
	}
}

// Text of clients may be anything.
func TestHostileText(t *testing.T) {
	p := start(t, allowed, live.Config{})
	long := strings.Repeat("x", 100_000)
	p.serve("GET /", "/", func(_ http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"<script>alert(1)</script>", "\u202eevil\x00\x1b[31m\n", "bad \xff utf-8", long} {
			marks.Mark(r.Context(), name, slog.String("value", name))
		}
	})
	d := p.detail()
	var got []string
	for _, m := range d.Rows[0].Marks {
		got = append(got, m.Name)
	}
	cut := strings.Repeat("x", 200) + "…"
	want := []string{"<script>alert(1)</script>", `\u202eevil\u0000\u001b[31m\u000a`, `bad \ufffd utf-8`, cut}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("names are %q, want %q", got, want)
	}
	if v := d.Rows[0].Marks[1].Attributes[0].Value; !strings.HasSuffix(v, "[31m\n") {
		t.Errorf("value is %q: lines of values are kept", v)
	}
	if v := d.Rows[0].Marks[3].Attributes[0].Value; len(v) > 1100 {
		t.Errorf("a value has %d bytes", len(v))
	}
	body := p.do(ask(http.MethodGet, "data/v1/requests/"+d.Trace+"/"+d.Span, "")).Body.String()
	if strings.Contains(body, "<script>") {
		t.Error("the answer has markup, though as data")
	}
}

func TestRequestsAreCut(t *testing.T) {
	p := start(t, perfline.Config{Recent: public.Config{MaxSpans: 2000}}, live.Config{})
	p.serve("GET /", "/", func(_ http.ResponseWriter, r *http.Request) {
		for i := range 800 {
			ctx, m := marks.Start(r.Context(), "m", slog.Int("a", i), slog.Int("b", i), slog.Int("c", i), slog.Int("d", i))
			for range 5 {
				marks.Mark(ctx, "n", slog.Int("e", i))
			}
			m.End()
		}
	})
	d := p.detail()
	marked, attributes := 0, len(d.Resource)
	for _, r := range d.Rows {
		marked += len(r.Marks)
		attributes += len(r.Attributes)
		for _, m := range r.Marks {
			attributes += len(m.Attributes)
		}
	}
	if len(d.Rows) != 640 || d.Cut.Rows != 801-640 || marked != 2000 || d.Cut.Marks != 639*5-2000 {
		t.Errorf("%d rows and %d marks, cut %+v", len(d.Rows), marked, d.Cut)
	}
	if attributes != 4000 || d.Cut.Attributes == 0 {
		t.Errorf("%d attributes, cut %d", attributes, d.Cut.Attributes)
	}
}

// However much there is in the parts that are told, an answer is not much longer than 2 MB: the
// spans come first, and what was left out is counted.
func TestRequestsAreCutByBytes(t *testing.T) {
	long := strings.Repeat("<\x00", 250) // which JSON makes several times as long
	for name, c := range map[string]struct {
		marks, attributes int // of each span
		span, failed      string
		rows              int // that are told, at least
	}{
		"attributes": {0, 7, "m", "", 640},
		"marks":      {10, 0, "m", "", 640},
		"names":      {1, 1, long, "", 600},
		"errors":     {1, 1, long, long, 200},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, perfline.Config{Recent: public.Config{MaxSpans: 2000, MaxBytes: 1 << 30}}, live.Config{})
			p.serve("GET /", "/", func(_ http.ResponseWriter, r *http.Request) {
				for range 800 {
					_, s := p.pl.TracerProvider().Tracer("t").Start(r.Context(), c.span)
					for i := range c.attributes {
						s.SetAttributes(otelattribute.String(fmt.Sprint(i, long), long))
					}
					for range c.marks {
						s.AddEvent(long, trace.WithAttributes(otelattribute.String(long, long)))
					}
					if c.failed != "" {
						s.SetStatus(codes.Error, c.failed)
					}
					s.End()
				}
			})
			first := p.overview().Requests.Requests[0]
			rec := p.do(ask(http.MethodGet, "data/v1/requests/"+first.Trace+"/"+first.Span, ""))
			var d detail
			p.t = t
			p.decode(rec, "a request", http.StatusOK, &d)
			t.Logf("%d bytes, %d rows, cut %+v", rec.Body.Len(), len(d.Rows), d.Cut)
			if n := rec.Body.Len(); n > 2<<20+1<<16 || n < 1<<20 {
				t.Errorf("%d bytes, want some 2 MB", n)
			}
			marked, attributes := 0, len(d.Resource)
			for _, r := range d.Rows {
				marked += len(r.Marks)
				attributes += len(r.Attributes)
			}
			if len(d.Rows) < c.rows || d.Cut.Rows != 801-len(d.Rows) || c.failed != "" && len(d.Rows) == 640 {
				t.Errorf("%d rows and %d cut, want %d at least", len(d.Rows), d.Cut.Rows, c.rows)
			}
			if marked+d.Cut.Marks != (len(d.Rows)-1)*c.marks || c.attributes > 0 && d.Cut.Attributes == 0 {
				t.Errorf("%d marks, %d attributes, cut %+v", marked, attributes, d.Cut)
			}
		})
	}
}

// A list's links work also when newer requests have taken the places of those it has.
func TestListedRequestsStay(t *testing.T) {
	p := start(t, perfline.Config{Recent: public.Config{Newest: 1, Slowest: -1}}, live.Config{})
	p.serve("GET /first", "/first", func(http.ResponseWriter, *http.Request) {})
	first := p.overview().Requests.Requests[0]
	p.serve("GET /second", "/second", func(http.ResponseWriter, *http.Request) {})
	var d detail
	p.get("data/v1/requests/"+first.Trace+"/"+first.Span, http.StatusOK, &d)
	if d.Name != "GET /first" {
		t.Errorf("got %s", d.Name)
	}
}

func TestNotFound(t *testing.T) {
	p := start(t, allowed, live.Config{})
	for _, c := range []struct{ name, path, want string }{
		{"request", "data/v1/requests/0102030405060708090a0b0c0d0e0f10/0102030405060708", "not in memory"},
		{"request's picture", "data/v1/requests/0102030405060708090a0b0c0d0e0f10/0102030405060708/svg", "not in memory"},
		{"no ids", "data/v1/requests/x/y", "not in memory"},
		{"session", "data/v1/sessions/7/json", "sessions: session 7: not found: it never started, was released, or has expired"},
		{"no session", "data/v1/sessions/x/json", "must be a number"},
		{"flame graph without a session", "data/v1/profile/flame", "must be a number"},
		{"file of the page", "page/nothing.js", "nothing.js"},
		{"path", "nothing/\u202e", `nothing/\u202e`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.t = t
			var f failure
			p.get(c.path, http.StatusNotFound, &f)
			if !strings.Contains(f.Error, c.want) || strings.Count(f.Error, "session 7") > 1 {
				t.Errorf("error is %q, want %q", f.Error, c.want)
			}
		})
	}
}

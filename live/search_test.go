package live_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	otelattribute "go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/live"
)

type found struct {
	Requests []row
	More     bool
	InMemory int
}

func (f found) names() (names []string) {
	for _, r := range f.Requests {
		names = append(names, r.Name)
	}
	return names
}

// search returns what the page finds for parameters of an address.
func (p *program) search(parameters ...string) (f found) {
	p.t.Helper()
	p.get("data/v1/requests?"+query(parameters...), http.StatusOK, &f)
	return f
}

func query(parameters ...string) string {
	q := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		q.Set(parameters[i], parameters[i+1])
	}
	return q.Encode()
}

// Each parameter is a field of the query.
func TestSearch(t *testing.T) {
	recent := requests.NewRecent(requests.Config{})
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recent)).Tracer("t")
	p := &program{t: t, page: live.Handler(quiet{recent: recent}, live.Config{})}
	at := time.UnixMilli(1_700_000_000_000)
	add := func(name string, kind trace.SpanKind, end, took time.Duration, attrs ...otelattribute.KeyValue) {
		_, s := tracer.Start(t.Context(), name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...), trace.WithTimestamp(at.Add(end-took)))
		s.End(trace.WithTimestamp(at.Add(end)))
	}
	add("GET /a", trace.SpanKindServer, time.Second, 5*time.Millisecond, otelattribute.Int("http.response.status_code", 404), otelattribute.String("user", "eve"))
	add("GET /b", trace.SpanKindServer, 2*time.Second, 1500*time.Microsecond)
	add("events", trace.SpanKindServer, 3*time.Second, 3*time.Second, otelattribute.Bool("perfline.stream", true))
	add("tick", trace.SpanKindInternal, 4*time.Second, time.Millisecond)
	add("redis.dial", trace.SpanKindClient, 5*time.Second, time.Millisecond)
	for _, c := range []struct {
		name       string
		parameters []string
		want       []string
		inMemory   int
	}{
		{"nothing asked for", nil, []string{"events", "GET /b", "GET /a"}, 3},
		{"empty fields", []string{"route", " ", "min", ""}, []string{"events", "GET /b", "GET /a"}, 3},
		{"route", []string{"route", "GET /a"}, []string{"GET /a"}, 3},
		{"status", []string{"status", "4xx"}, []string{"GET /a"}, 3},
		{"min", []string{"min", "1.5 ms", "class", "requests"}, []string{"GET /b", "GET /a"}, 2},
		{"max", []string{"max", "1501us"}, []string{"GET /b"}, 3},
		{"from", []string{"from", "1700000002000.0"}, []string{"events", "GET /b"}, 3},
		{"to", []string{"to", "1700000002000"}, []string{"GET /a"}, 3},
		{"attribute", []string{"attribute", "user=eve"}, []string{"GET /a"}, 3},
		{"text", []string{"text", "get /B"}, []string{"GET /b"}, 3},
		{"streams", []string{"class", "streams"}, []string{"events"}, 1},
		{"background", []string{"class", "background"}, []string{"tick"}, 1},
		{"housekeeping", []string{"class", "housekeeping"}, []string{"redis.dial"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := (&program{t: t, page: p.page}).search(c.parameters...)
			if !slices.Equal(got.names(), c.want) || got.InMemory != c.inMemory || got.More {
				t.Errorf("found %q, more %v, of %d in memory; want %q of %d", got.names(), got.More, got.InMemory, c.want, c.inMemory)
			}
		})
	}
}

// An error names the field, the value and the rule.
func TestSearchRefuses(t *testing.T) {
	p, _ := aQuiet(t, requests.Config{})
	for _, c := range []struct{ field, value, want string }{
		{"status", "not ok", `status "not ok": must be ok, error, a class such as 5xx, or a status of letters and digits`},
		{"min", "5", `duration "5": must be a number with a unit, such as 250us, 5 ms or 1.5s`},
		{"min", "-5ms", `least duration -5ms: must not be negative`},
		{"max", "soon\u202e", `duration "soon\\u202e": must be a number with a unit, such as 250us, 5 ms or 1.5s`},
		{"from", "yesterday", `time "yesterday": must be milliseconds since 1970`},
		{"from", "NaN", `time "NaN": must be milliseconds since 1970`},
		{"attribute", "=x", `attribute "=x": must begin with a key`},
		{"class", "all", `class "all": must be requests, streams, inner, background or housekeeping`},
	} {
		t.Run(c.field+" "+c.value, func(t *testing.T) {
			p := &program{t: t, page: p.page}
			var got struct{ Field, Error string }
			p.get("data/v1/requests?"+query(c.field, c.value), http.StatusBadRequest, &got)
			if got.Field != c.field || got.Error != c.want {
				t.Errorf("error %q of field %q, want %q of %q", got.Error, got.Field, c.want, c.field)
			}
		})
	}
	var got struct{ Field, Error string }
	p.get("data/v1/requests?"+query("min", "2s", "max", "1s"), http.StatusBadRequest, &got)
	if want := "greatest duration 1s: must be more than the least duration 2s"; got.Field != "max" || got.Error != want {
		t.Errorf("error %q of field %q, want %q of max", got.Error, got.Field, want)
	}
}

// Requests that a page listed or opened are found when others have taken their places in memory.
func TestSearchFindsListedRequests(t *testing.T) {
	p, request := aQuiet(t, requests.Config{Requests: 1, Slowest: -1})
	request("listed")
	p.overview()
	opened := request("opened")
	p.get(opened, http.StatusOK, nil)
	request("in memory")
	if got := p.search(); !slices.Equal(got.names(), []string{"in memory", "opened", "listed"}) || got.InMemory != 3 {
		t.Errorf("found %q of %d, want all three", got.names(), got.InMemory)
	}
}

// An answer is bounded, and reports that others match.
func TestSearchIsBounded(t *testing.T) {
	const most = 200
	p, request := aQuiet(t, requests.Config{Requests: 2 * most})
	for i := range most + 1 {
		request(fmt.Sprint(i))
	}
	got := p.search()
	if len(got.Requests) != most || !got.More || got.InMemory != most+1 || got.Requests[0].Name != fmt.Sprint(most) {
		t.Errorf("%d requests of %d, more %v: want the newest %d, and that there are more", len(got.Requests), got.InMemory, got.More, most)
	}
}

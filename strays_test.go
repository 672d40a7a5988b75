package perfline_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/stray"
	"github.com/perfline/perfline/marks"
)

// A place in this file, without the path of the package.
func places(pl *perfline.Pipeline) (all []string) {
	for _, p := range stored(pl).Strays() {
		all = append(all, fmt.Sprint(p.Count, " ", p.What, " ", strings.TrimPrefix(p.Function, "github.com/perfline/perfline_test.")))
	}
	slices.Sort(all)
	return all
}

func loadItems(ctx context.Context, pl *perfline.Pipeline) {
	_, span := pl.TracerProvider().Tracer("example.com/otelsql").Start(ctx, "sql.conn.query", trace.WithSpanKind(trace.SpanKindClient))
	span.End()
}

func fetchPrices(ctx context.Context, pl *perfline.Pipeline) {
	client := http.Client{Transport: bridgehttp.Client{TracerProvider: pl.TracerProvider()}.Transport(okay{})}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://prices.example/", http.NoBody)
	if err != nil {
		panic(err)
	}
	if a, err := client.Do(r); err == nil {
		_ = a.Body.Close()
	}
}

// okay answers all requests.
type okay struct{}

func (okay) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// Work without a request counts by the function of the program that began it, below instrumentation and the standard library. Work in
// a request, of a job, below a remote parent, in a trace of its own and of a pool of connections does not count.
func TestStrays(t *testing.T) { overBoth(t, testStrays) }

func testStrays(t *testing.T, start starter) {
	pl, ctx, _ := start(t, perfline.Config{Sampler: sdktrace.AlwaysSample()})
	tracer := pl.TracerProvider().Tracer("t")
	request, span := tracer.Start(ctx, "GET /", trace.WithSpanKind(trace.SpanKindServer))
	loadItems(request, pl)
	fetchPrices(request, pl)
	marks.Mark(request, "in the request")
	_, own := tracer.Start(request, "in a trace of its own", trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindClient))
	own.End()
	span.End()
	job, timing := marks.StartJob(ctx, "job")
	loadItems(job, pl)
	timing.End()
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true})
	loadItems(trace.ContextWithRemoteSpanContext(ctx, remote), pl)
	_, reset := tracer.Start(ctx, "sql.conn.reset_session", trace.WithSpanKind(trace.SpanKindClient))
	reset.End()
	marks.Time(ctx, "measure").End()
	if got := places(pl); got != nil {
		t.Fatalf("without strays, the places are %q", got)
	}

	loadItems(ctx, pl)
	loadItems(ctx, pl)
	fetchPrices(ctx, pl)
	marks.Mark(ctx, "cache.miss")
	if got, want := places(pl), []string{"1 call fetchPrices", "1 mark cache.miss", "2 query loadItems"}; !slices.Equal(got, want) {
		t.Errorf("the places are %q, want %q", got, want)
	}
}

// Spans that the sampler drops count, too, with and without a policy that keeps some.
func TestStraysOfDroppedSpans(t *testing.T) {
	for _, off := range []bool{false, true} {
		c := perfline.Config{Sampler: sdktrace.NeverSample()}
		c.Keep.Off = off
		pl, ctx, _ := start(t, c)
		loadItems(ctx, pl)
		if got := stored(pl).Strays(); len(got) != 1 || got[0].Count != 1 || got[0].What != stray.Query || !strings.HasSuffix(got[0].Function, ".loadItems") {
			t.Errorf("policy off %t: the places are %+v, want a query of loadItems", off, got)
		}
	}
}

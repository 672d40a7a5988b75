package perfline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
)

// maxWaiting is the number of traces that wait for the end of a request in memory: requests.Config.MaxPending by default.
const maxWaiting = 1024

// Spans that end when their request has left memory are counted, and are no loss.
func TestLateSpansAreNoLoss(t *testing.T) {
	overBoth(t, func(t *testing.T, start starter) {
		pl, ctx, _ := start(t, perfline.Config{})
		tracer := pl.TracerProvider().Tracer("t")
		const n = 2 * maxWaiting
		var after []context.Context
		for range n {
			ctx, request := tracer.Start(ctx, "POST /publish", trace.WithSpanKind(trace.SpanKindServer))
			request.End()
			after = append(after, context.WithoutCancel(ctx))
		}
		inMemory := map[trace.TraceID]bool{}
		for _, q := range stored(pl).All() {
			inMemory[q.TraceID] = true
		}
		for _, ctx := range after {
			_, span := tracer.Start(ctx, "deliver")
			span.End()
		}
		want := fmt.Sprintf("requests %d, late %d", n, n-len(inMemory)-maxWaiting)
		if got := nonzero(pl, "perfline.recent"); got != want {
			t.Errorf("the counts are %q, want %q", got, want)
		}
		for _, c := range pl.Counts() {
			if c.Lost && c.N > 0 {
				t.Errorf("%d %s are lost", c.N, c.What)
			}
		}
	})
}

// Spans of running requests that give way are a loss: their requests lack them.
func TestSpansOfRunningRequestsAreLost(t *testing.T) {
	pl, ctx, _ := start(t, perfline.Config{})
	tracer := pl.TracerProvider().Tracer("t")
	var running []trace.Span
	for range maxWaiting + 3 {
		ctx, request := tracer.Start(ctx, "GET /report", trace.WithSpanKind(trace.SpanKindServer))
		_, span := tracer.Start(ctx, "query")
		span.End()
		running = append(running, request)
	}
	if err := pl.Flush(t.Context()); err != nil { // the store gets the spans of open requests
		t.Fatal(err)
	}
	for _, request := range running {
		request.End()
	}
	want := fmt.Sprintf("requests %d, abandoned 3 (lost)", maxWaiting+3)
	if got := nonzero(pl, "perfline.recent"); got != want {
		t.Errorf("the counts are %q, want %q", got, want)
	}
}

// nonzero lists the counts of a group, except numbers of the present.
func nonzero(pl *perfline.Pipeline, group string) string {
	var all []string
	for _, c := range pl.Counts() {
		if c.Group == group && c.N > 0 && !c.Now {
			one := fmt.Sprintf("%s %d", c.Name, c.N)
			if c.Lost {
				one += " (lost)"
			}
			all = append(all, one)
		}
	}
	return strings.Join(all, ", ")
}

package integration

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/marks"
)

// The requests of TestKeptRequests: of each thousand, ten are slow and five fail.
const (
	keepSlow     = 100 * time.Millisecond
	keepRequests = 3000
)

// A keptRequest is a request that the service of TestKeptRequests got.
type keptRequest struct {
	trace   trace.TraceID
	sampled bool
	want    local.KeepReason
}

// With 1 % of the requests sampled, each slow and each failed request is in Jaeger with all its spans, and the counts of the
// service equal what Jaeger has.
func TestKeptRequests(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var service string
	pl, tl, _ := start(t, jaeger, func(c *perfline.Config) {
		service = c.Service
		c.Sampler = sdktrace.ParentBased(sdktrace.TraceIDRatioBased(0.01))
		c.Keep = bridge.KeepPolicy{Slow: keepSlow, PerSecond: keepRequests, Export: true}
	})
	library := pl.TracerProvider().Tracer("library")
	var mu sync.Mutex
	var all []keptRequest
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tasks/{n}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("n"))
		if err != nil {
			t.Error(err)
		}
		span := trace.SpanContextFromContext(r.Context())
		q := keptRequest{trace: span.TraceID(), sampled: span.IsSampled()}
		inside, child := library.Start(r.Context(), "query")
		marks.Mark(inside, "found")
		switch {
		case n%100 == 0:
			q.want = local.KeptForTime
			time.Sleep(keepSlow) // this is the work
		case n%200 == 50:
			q.want = local.KeptForFailure
			w.WriteHeader(http.StatusInternalServerError)
		}
		child.End()
		marks.Time(r.Context(), "render").End()
		mu.Lock()
		defer mu.Unlock()
		all = append(all, q)
	})
	srv := httptest.NewServer(server(pl, tl).Middleware(mux))
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var n atomic.Int64
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := n.Add(1); i <= keepRequests; i = n.Add(1) {
				req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprint(srv.URL, "/tasks/", i), http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			}
		})
	}
	workers.Wait()
	srv.Close()
	if err := pl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	stats, decided := pl.Stats().Delivery, map[string]uint64{}
	for _, c := range pl.Counts() {
		switch c.Group {
		case "perfline.requests":
			decided[c.Name] = c.N
		case "perfline.requests.exported", "perfline.requests.refused":
			decided[c.Group] = c.N
		}
	}
	if err := pl.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	checkKept(t, all, waitForSpans(ctx, t, jaeger, service, int(stats.Accepted)), stats, decided)
}

// checkKept compares what the service did with what Jaeger has.
func checkKept(t *testing.T, all []keptRequest, traces map[string][]backend.Span, d exporter.Stats, decided map[string]uint64) {
	t.Helper()
	spans, sampled, exported, slowByLoad := 0, 0, 0, 0
	count := map[local.KeepReason]int{}
	for _, q := range all {
		got := traces[q.trace.String()]
		delete(traces, q.trace.String())
		spans += len(got)
		reason, tagged := reasonIn(got)
		switch {
		case q.sampled:
			sampled++
		case tagged:
			exported++
		}
		count[q.want]++
		if q.want == local.NotKept && reason == local.KeptForTime.String() {
			slowByLoad++ // a busy machine made it slow
		}
		if q.want == local.NotKept && !q.sampled && !tagged {
			if len(got) > 0 {
				t.Errorf("request %v was neither sampled nor kept, and Jaeger has %d spans", q.trace, len(got))
			}
			continue
		}
		names := slices.Sorted(maps.Keys(names(got)))
		if !slices.Equal(names, []string{"GET /tasks/{n}", "found", "query", "render"}) || len(got) != 3 {
			t.Errorf("request %v (%v, sampled %t) has %q in %d spans in Jaeger", q.trace, q.want, q.sampled, names, len(got))
		}
		if !q.sampled && reason != q.want.String() && q.want != local.NotKept {
			t.Errorf("request %v was kept for %q, want %q", q.trace, reason, q.want)
		}
	}
	if len(traces) > 0 {
		t.Errorf("Jaeger has %d other traces", len(traces))
	}
	t.Logf("%d requests: %d slow and %d failed by plan, %d slow by load, %d sampled, %d exported because they were kept; %v; delivery %+v",
		len(all), count[local.KeptForTime], count[local.KeptForFailure], slowByLoad, sampled, exported, decided, d)
	if int(d.Accepted) != spans || d.Delivered != d.Accepted || d.Failed+d.Dropped+d.Pending > 0 {
		t.Errorf("Jaeger has %d spans, and the delivery says %+v", spans, d)
	}
	if int(decided["perfline.requests.exported"]) != exported || int(decided["failed"]) != count[local.KeptForFailure] || int(decided["slow"]) < count[local.KeptForTime] || decided["over_ceiling"]+decided["perfline.requests.refused"] > 0 {
		t.Errorf("Jaeger has %d kept requests, and the policy says %v", exported, decided)
	}
	sum := -int(decided["perfline.requests.exported"] + decided["perfline.requests.refused"]) // which are no outcomes
	for _, n := range decided {
		sum += int(n)
	}
	if sum != len(all) {
		t.Errorf("the policy has counted %d requests of %d", sum, len(all))
	}
}

// reasonIn returns the attribute with the reason, which only the local root may have.
func reasonIn(spans []backend.Span) (reason string, ok bool) {
	for _, s := range spans {
		if s.Name == "GET /tasks/{n}" {
			reason, ok = s.Tags[local.KeepReasonKey].(string)
		}
	}
	return reason, ok
}

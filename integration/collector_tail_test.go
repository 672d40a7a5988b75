package integration

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
)

// TestCollectorSamplesTails has the Collector see the end of each trace before it
// decides: of those with an error and of the slow ones all must be in Jaeger, of the
// others some, and each as a whole though its spans came at different times.
func TestCollectorSamplesTails(t *testing.T) {
	t.Setenv("COLLECTOR_TAIL_WAIT", "15s")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c := ownCollector(ctx, t, backend.CollectorConfig{Jaeger: jaeger.OTLPGRPC(), Tail: true})
	service := ""
	pl, _, _ := start(t, jaeger, func(cfg *perfline.Config) {
		cfg.Traces.Endpoint = c.OTLPGRPC()
		service = cfg.Service
	})

	const ordinary, special = 500, 20
	tracer := pl.TracerProvider().Tracer("tails")
	began := time.Now()
	var ends []func()
	begin := func(name string, took time.Duration, status codes.Code) {
		ctx, root := tracer.Start(ctx, name, trace.WithTimestamp(began))
		_, child := tracer.Start(ctx, "child", trace.WithTimestamp(began))
		child.SetStatus(status, "")
		child.End(trace.WithTimestamp(began.Add(time.Millisecond)))
		ends = append(ends, func() { root.End(trace.WithTimestamp(began.Add(took))) })
	}
	for range ordinary {
		begin("ordinary", 100*time.Millisecond, codes.Unset)
	}
	for range special {
		begin("slow", 300*time.Millisecond, codes.Unset)
		begin("failed", time.Millisecond, codes.Error)
	}
	if err := pl.Flush(ctx); err != nil { // the children are there first
		t.Fatal(err)
	}
	for _, end := range ends {
		end()
	}
	if err := pl.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}

	const decided = "otelcol_processor_tail_sampling_global_count_traces_sampled"
	if err := backend.Poll(ctx, func() (bool, error) { return count(ctx, t, c, decided, "") == ordinary+2*special, nil }); err != nil {
		t.Fatalf("%v: of %d traces %d are decided on", err, ordinary+2*special, count(ctx, t, c, decided, ""))
	}
	kept := count(ctx, t, c, decided, `sampled="true"`)
	got := map[string]int{}
	for id, spans := range waitForSpans(ctx, t, jaeger, service, 2*kept) {
		n := names(spans)
		if len(spans) != 2 || n["child"] != 1 {
			t.Errorf("of trace %s Jaeger has %v, want it whole", id, n)
		}
		delete(n, "child")
		for name := range n {
			got[name]++
		}
	}
	// 10 % of the ordinary are 50; none, or half of them, is too improbable for any run.
	if got["slow"] != special || got["failed"] != special || got["ordinary"] == 0 || got["ordinary"] > ordinary/2 {
		t.Errorf("Jaeger has %v; want all %d that were slow, all %d that failed, and some of %d", got, special, special, ordinary)
	}
	t.Logf("of %d ordinary, %d slow and %d failed traces: %v", ordinary, special, special, got)
}

package integration

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
)

// TestCollectorSamplesTails lets the Collector see the end of each trace before it decides.
// Jaeger must have all failed and all slow traces, and some of the others. Each trace must
// be complete, although its spans came at different times. The Collector decides some time after a
// trace's first span: where the machine is too slow for that time, it gets more.
func TestCollectorSamplesTails(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for wait := 4 * time.Second; ; wait *= 4 {
		t.Setenv("COLLECTOR_TAIL_WAIT", wait.String())
		c := ownCollector(ctx, t, backend.CollectorConfig{Jaeger: jaeger.OTLPGRPC(), Tail: true})
		service := serviceName(t)
		var providers []string
		var longest time.Duration
		overBoth(t, func(t *testing.T) {
			providers = append(providers, t.Name())
			pl, _, _ := start(t, jaeger, func(cfg *perfline.Config) {
				cfg.Traces.Endpoint = c.OTLPGRPC()
				cfg.Service = service
				cfg.Attributes = []attribute.KeyValue{attribute.String("provider", t.Name())}
			})
			began := time.Now()
			sendTails(ctx, t, pl)
			longest = max(longest, time.Since(began))
		})
		if longest < wait-time.Second { // it looks each second
			checkTails(ctx, t, c, service, providers)
			return
		}
		t.Logf("the traces took %v, and the Collector waits %v: again", longest, wait)
	}
}

// The traces that sendTails makes.
const ordinary, special = 500, 20

// checkTails compares the traces that the providers sent with the Collector's counts and with Jaeger's traces.
func checkTails(ctx context.Context, t *testing.T, c *backend.Collector, service string, providers []string) {
	t.Helper()
	traces := len(providers) * (ordinary + 2*special)
	const decided = "otelcol_processor_tail_sampling_global_count_traces_sampled"
	if err := backend.Poll(ctx, func() (bool, error) { return count(ctx, t, c, decided, "") == traces, nil }); err != nil {
		t.Fatalf("%v: of %d traces %d are decided on", err, traces, count(ctx, t, c, decided, ""))
	}
	sampled := count(ctx, t, c, decided, `sampled="true"`)
	got := map[string]map[string]int{}
	for _, name := range providers {
		got[name] = map[string]int{}
	}
	for id, spans := range waitForSpans(ctx, t, jaeger, service, 2*sampled) {
		n := names(spans)
		if len(spans) != 2 || n["child"] != 1 {
			t.Errorf("of trace %s Jaeger has %v, want it whole", id, n)
		}
		delete(n, "child")
		provider, _ := spans[0].Process["provider"].(string)
		for name := range n {
			got[provider][name]++
		}
	}
	for provider, n := range got {
		// 10 % of the ordinary are 50; none, or half of them, is too improbable for any run.
		if n["slow"] != special || n["failed"] != special || n["ordinary"] == 0 || n["ordinary"] > ordinary/2 {
			t.Errorf("%s: Jaeger has %v; want all %d that were slow, all %d that failed, and some of %d", provider, n, special, special, ordinary)
		}
		t.Logf("%s: of %d ordinary, %d slow and %d failed traces: %v", provider, ordinary, special, special, n)
	}
}

// sendTails makes traces whose children arrive before their roots end.
func sendTails(ctx context.Context, t *testing.T, pl *perfline.Pipeline) {
	t.Helper()
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
	if err := pl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if d := pl.Stats().Delivery; d.Delivered != uint64(len(ends)) {
		t.Errorf("%d children are delivered before the roots end, want %d", d.Delivered, len(ends))
	}
	for _, end := range ends {
		end()
	}
	if err := pl.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}

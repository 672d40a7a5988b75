package integration

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
)

// ends are the two ways in which a Collector ends.
var ends = []struct {
	name string
	end  func(*backend.Collector) error
}{
	{"killed", func(c *backend.Collector) error { return c.Kill() }},
	{"terminated", func(c *backend.Collector) error { return c.Terminate() }},
}

// steadily sends 200 requests per second until it is told to stop, and tells then how
// many there were. None may fail.
func steadily(t *testing.T, url string) (stop func() int) {
	t.Helper()
	done, stopped := make(chan struct{}), make(chan int)
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
			case <-done:
				stopped <- n
				return
			}
			resp, err := http.Get(url + "/task")
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Errorf("the service noticed: it answers %s", resp.Status)
				}
			}
			if err != nil {
				t.Errorf("the service noticed: %v", err)
			}
		}
	}()
	return func() int {
		close(done)
		return <-stopped
	}
}

// after waits until a count of pl's spans has grown by n.
func after(ctx context.Context, t *testing.T, pl *perfline.Pipeline, n uint64, spans func(perfline.Stats) uint64) {
	t.Helper()
	from := spans(pl.Stats())
	if err := backend.Poll(ctx, func() (bool, error) { return spans(pl.Stats()) >= from+n, nil }); err != nil {
		t.Fatalf("waiting for %d more than %d: %v: %+v", n, from, err, pl.Stats().Delivery)
	}
}

func accepted(s perfline.Stats) uint64 { return s.Delivery.Accepted }
func taken(s perfline.Stats) uint64    { return s.Delivery.Delivered }

// delivers shuts pl down and wants all of the spans of the requests delivered.
func delivers(ctx context.Context, t *testing.T, pl *perfline.Pipeline, requests int) int {
	t.Helper()
	if err := pl.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	spans := requests * spansPerRequest
	if d := pl.Stats().Delivery; d.Accepted != d.Delivered+d.Failed+d.Dropped+d.Pending || int(d.Accepted) != spans || int(d.Delivered) != spans {
		t.Errorf("the service made %d spans, all of which a Collector that is away for a moment should have got; its books: %+v", spans, d)
	}
	return spans
}

// TestCollectorRestarts ends the Collector under load and starts it again. Jaeger gets the
// spans that the Collector had acknowledged, and the spans that waited in the service.
func TestCollectorRestarts(t *testing.T) { overBoth(t, testCollectorRestarts) }

func testCollectorRestarts(t *testing.T) {
	t.Helper()
	for _, e := range ends {
		t.Run(e.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			c := ownCollector(ctx, t, backend.CollectorConfig{Jaeger: jaeger.OTLPGRPC()})
			service := ""
			pl, tl, _ := start(t, jaeger, func(cfg *perfline.Config) {
				cfg.Traces.Endpoint = c.OTLPGRPC()
				service = cfg.Service
			})
			srv := workServer(t, pl, tl)
			stop := steadily(t, srv.URL)

			after(ctx, t, pl, 200, taken)
			// At a moment when it has acknowledged spans and not sent them.
			if err := backend.Poll(ctx, func() (bool, error) {
				return count(ctx, t, c, "otelcol_exporter_queue_size", toJaeger) > 0, nil
			}); err != nil {
				t.Fatal(err)
			}
			if err := e.end(c); err != nil {
				t.Fatal(err)
			}
			after(ctx, t, pl, 200, accepted)
			if err := c.Start(ctx); err != nil {
				t.Fatal(err)
			}
			after(ctx, t, pl, 200, taken)

			spans := delivers(ctx, t, pl, stop())
			stored := 0
			for _, trace := range waitForSpans(ctx, t, jaeger, service, spans) {
				stored += len(trace)
			}
			t.Logf("%d spans, %d of them twice in Jaeger", spans, stored-spans)
		})
	}
}

// TestCollectorWithoutJaeger has a Collector whose Jaeger is away. Neither the service
// nor the other backend notices. Everything arrives when Jaeger is back, also if the
// Collector restarted meanwhile with a full queue.
func TestCollectorWithoutJaeger(t *testing.T) {
	tempo := jaeger
	for _, e := range append(ends, struct {
		name string
		end  func(*backend.Collector) error
	}{"stays", nil}) {
		t.Run(e.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			away := ownJaeger(ctx, t)
			if err := away.Kill(); err != nil {
				t.Fatal(err)
			}
			c := ownCollector(ctx, t, backend.CollectorConfig{Jaeger: away.OTLPGRPC(), Tempo: tempo.OTLPGRPC()})
			service := ""
			pl, tl, lines := start(t, jaeger, func(cfg *perfline.Config) {
				cfg.Traces.Endpoint = c.OTLPGRPC()
				service = cfg.Service
			})
			srv := workServer(t, pl, tl)
			stop := steadily(t, srv.URL)
			after(ctx, t, pl, 500, taken)
			spans := delivers(ctx, t, pl, stop())
			waitForSpans(ctx, t, tempo, service, spans)
			if sent := count(ctx, t, c, "otelcol_exporter_sent_spans", toJaeger); sent != 0 {
				t.Errorf("%d spans were sent to a Jaeger that is not there", sent)
			}
			if n := len(lines.all()); n != 0 {
				t.Errorf("the service noticed that the Collector's Jaeger is away: %q", lines.all())
			}

			if e.end != nil {
				if err := e.end(c); err != nil {
					t.Fatal(err)
				}
				if err := c.Start(ctx); err != nil {
					t.Fatal(err)
				}
			}
			if err := backend.Poll(ctx, func() (bool, error) { // it may count them a moment after it is ready
				return count(ctx, t, c, "otelcol_exporter_queue_size", toJaeger) > 0, nil
			}); err != nil {
				t.Errorf("nothing waits for Jaeger in the Collector's queue: %v", err)
			}
			if err := away.Start(ctx); err != nil {
				t.Fatal(err)
			}
			waitForSpans(ctx, t, away, service, spans)
		})
	}
}

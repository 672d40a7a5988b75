package otlpmetrics_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/otlpmetrics"
	"github.com/perfline/perfline/internal/queue"
)

// A backend knows only traces.
type backend struct{ requests int }

func (b *backend) Send(context.Context, []byte) queue.Answer {
	b.requests++
	return queue.Answer{Err: errors.New("404 Not Found"), Unknown: true}
}

func (*backend) Close() error { return nil }

// A receiver that does not know metrics gets a request now and then, and the log has one line.
func TestUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		to := &backend{}
		e := otlpmetrics.New(otlpmetrics.Config{
			Sender: to, To: "backend", Resource: resource.Empty(), Timeout: time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Temporality: metric.DefaultTemporalitySelector, Aggregation: metric.DefaultAggregationSelector,
		})
		m := &metricdata.ResourceMetrics{ScopeMetrics: []metricdata.ScopeMetrics{{Metrics: []metricdata.Metrics{
			{Name: "m", Data: metricdata.Gauge[int64]{DataPoints: []metricdata.DataPoint[int64]{{Value: 1}}}},
		}}}}
		const minutes = 21
		for range minutes {
			if err := e.Export(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		const tried = 3 // after 0, 10 and 20 minutes
		if got, want := e.Stats(), (queue.Stats{Accepted: minutes, Failed: tried, Dropped: minutes - tried}); got != want || to.requests != tried {
			t.Errorf("%d requests, and books are %+v, want %+v", to.requests, got, want)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "does not know metric points") {
			t.Errorf("the log has %d lines, want one:\n%s", n, log.String())
		}
	})
}

package signals

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/profiling/otlpprofiles"
)

// A Collector without a pipeline for profiles gets one request, and the log has one line. Each profile is counted.
func TestCollectorWithoutProfiles(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := startCollector(ctx, t, backend.CollectorConfig{Jaeger: "127.0.0.1:1"})
	for protocol, endpoint := range map[string]string{otlp.GRPC: c.OTLPGRPC(), otlp.HTTP: c.OTLPHTTP()} {
		t.Run(protocol, func(t *testing.T) {
			var log bytes.Buffer
			pl, err := perfline.Start(ctx, perfline.Config{
				SpanExporter: tracetest.NewInMemoryExporter(), Logger: slog.New(slog.NewTextHandler(&log, nil)),
				ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Endpoint: endpoint, Protocol: protocol}),
			})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if err := pl.Flush(ctx); err == nil {
					t.Error("Flush returned no error")
				}
			}
			if err := pl.Shutdown(ctx); err == nil || !strings.Contains(err.Error(), "profiles over OTLP") {
				t.Errorf("Shutdown returned %v", err)
			}
			if s := pl.Stats().OTLPProfiles; s.Accepted == 0 || s.Accepted != s.Refused+s.Unanswered+s.Dropped || s.Retries > 0 {
				t.Errorf("the books are %+v", s)
			}
			if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "the receiver does not know profiles") {
				t.Errorf("logged %s", &log)
			}
		})
	}
}

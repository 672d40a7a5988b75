package signals

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/internal/leaktest"
)

func TestMain(m *testing.M) {
	// A busy machine gives up no request: a second attempt may arrive twice.
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_BSP_EXPORT_TIMEOUT", "OTEL_BLRP_EXPORT_TIMEOUT"} {
		if err := os.Setenv(name, "600000"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	leaktest.Main(m)
}

// startCollector starts a Collector until the end of the test. The log of one whose test fails is printed.
func startCollector(ctx context.Context, t *testing.T, config backend.CollectorConfig) *backend.Collector {
	t.Helper()
	c, err := backend.StartCollector(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the Collector's log:\n%s", c.Log())
		}
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

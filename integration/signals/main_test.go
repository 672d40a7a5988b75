package signals

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/perfline/perfline/integration/backend"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

package outputs

import (
	"log/slog"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// An export of metrics may take as long as the variable says, and 0 is no limit.
func TestExportTimeout(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 30 * time.Second, "1": time.Millisecond, "70000": 70 * time.Second, "0": noLimit, "-1": 30 * time.Second} {
		t.Setenv("OTEL_METRIC_EXPORT_TIMEOUT", value)
		if got := exportTimeout(environ.NewReader(slog.New(slog.DiscardHandler))); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
}

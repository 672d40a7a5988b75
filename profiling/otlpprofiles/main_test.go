package otlpprofiles

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/perfline/perfline/internal/leaktest"
)

func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OTEL_") || strings.HasPrefix(name, "PERFLINE_") {
			_ = os.Unsetenv(name)
		}
	}
	leaktest.Main(m, goleak.IgnoreAnyFunction(leakingFunction)) // which leaks one on purpose
}

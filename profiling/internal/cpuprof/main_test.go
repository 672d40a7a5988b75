package cpuprof

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/perfline/perfline/profiling/internal/samplingtest"
)

// Tests here are not parallel: a process has one CPU profiler.
func TestMain(m *testing.M) {
	samplingtest.Patient()
	goleak.VerifyTestMain(m)
}

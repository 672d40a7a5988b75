package cpuprof

import (
	"testing"

	"github.com/perfline/perfline/internal/leaktest"
)

// Tests here are not parallel: a process has one CPU profiler.
func TestMain(m *testing.M) {
	leaktest.Main(m)
}

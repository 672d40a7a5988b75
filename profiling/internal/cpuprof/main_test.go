package cpuprof

import (
	"testing"

	"go.uber.org/goleak"
)

// Tests here are not parallel: a process has one CPU profiler.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

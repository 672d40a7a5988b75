package profiling_test

import (
	"testing"
	"time"

	"github.com/perfline/perfline/profiling"
)

// The engine of the CPU measures what a sample costs.
func TestSampleCost(t *testing.T) {
	p, err := profiling.Start(t.Context(), profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if p.Engine() != "cpu" {
		t.Skipf("engine %q does not tell", p.Engine())
	}
	burnUntil(t, p, 3)
	trace := stop(t, p)
	if cost := trace.Stats.SampleCost; cost <= 0 || cost > trace.CPUTime {
		t.Errorf("a sample costs %v, and all of the process used %v", cost, trace.CPUTime)
	}
}

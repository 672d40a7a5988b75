//go:build linux && !perfline_portable

package cpuprof

import (
	"testing"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
)

func TestConflicts(t *testing.T) {
	samplingtest.Conflicts(t, func(p *samplingtest.CPUProfiler) sampling.Engine {
		e := newEngine(sampling.NewSymbols(), answerTimeout, p)
		p.Nudged = e.entry + 1
		return e
	}, "Start", "Stop", "SetRate", "Read", "Nudge", "Stopper")
}

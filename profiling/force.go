package profiling

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/profiling/internal/sampling"
)

// ForceSample adds a sample of the calling goroutine to every running profiler (state [Started]).
// The weight of the sample is 0. Use ForceSample in tests that need a sample immediately. See JS
// Self-Profiling, Automation: Force Sample.
func ForceSample() {
	var pcs [64]uintptr
	n := runtime.Callers(2, pcs[:])
	tag := spanlabels.Tag()
	for _, h := range []*hub{cpu, wallClock} {
		h.mu.Lock()
		active := h.active
		h.mu.Unlock()
		if !active {
			continue
		}
		var profilers []*Profiler
		h.do(func() { profilers = slices.Clone(h.profilers) })
		readAxes(profilers)
		h.do(func() { h.force(pcs[:n], tag) })
		readAxes(profilers)
	}
	runtime.KeepAlive(tag)
}

func readAxes(profilers []*Profiler) {
	for _, p := range profilers {
		p.axis.read()
	}
}

func (h *hub) force(pcs []uintptr, tag unsafe.Pointer) {
	if h.keeper.state != engineRunning {
		return
	}
	h.flush()
	sm := sampling.Sample{At: sampling.Now(), Tag: tag, Count: 1, Cut: len(pcs) == 64}
	for _, pc := range pcs {
		sm.Stack = append(sm.Stack, h.keeper.symbols.PC(pc))
	}
	h.distribute(&sm, true)
}

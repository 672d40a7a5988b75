package profiling

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// ForceSample gives every session that is started a sample of the calling goroutine
// now (JS Self-Profiling, Automation: Force Sample). It stands for no time. It makes
// tests exact.
func ForceSample() {
	var pcs [64]uintptr
	n := runtime.Callers(2, pcs[:])
	tag := spanlabels.Tag()
	for _, h := range []*hub{cpu, wallClock} {
		h.mu.Lock()
		running := h.running
		h.mu.Unlock()
		if !running {
			continue
		}
		var sessions []*session
		h.do(func() { sessions = slices.Clone(h.sessions) })
		readAxes(sessions)
		h.do(func() { h.force(pcs[:n], tag) })
		readAxes(sessions)
	}
	runtime.KeepAlive(tag)
}

func readAxes(sessions []*session) {
	for _, s := range sessions {
		s.axis.read()
	}
}

func (h *hub) force(pcs []uintptr, tag unsafe.Pointer) {
	if !h.on {
		return
	}
	h.flush()
	sm := sampling.Sample{At: sampling.Now(), Tag: tag, Count: 1, Cut: len(pcs) == 64}
	for _, pc := range pcs {
		sm.Stack = append(sm.Stack, h.symbols.PC(pc))
	}
	h.give(&sm, true)
}

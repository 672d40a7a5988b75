package spanlabels

import (
	"sync"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
)

// A Label is a profiler label. See runtime/pprof.Labels.
type Label struct{ Key, Value string }

// A set is a goroutine's labels in the runtime's layout. This package reads and makes sets only if
// layoutKnown returns true.
type set struct{ list []Label } // as goruntime.LabelSet

// layoutKnown reports whether labels have the layout that this package expects. Otherwise
// runtime/pprof sets labels, see pprofSet.
var layoutKnown = sync.OnceValue(func() bool { return goruntime.CheckLabels() == nil })

func current() *set { return (*set)(goruntime.Labels()) }

func setCurrent(m *set) { goruntime.SetLabels(unsafe.Pointer(m)) }

// labels returns the set's list, nil if the layout is unknown.
func (m *set) labels() []Label {
	if m == nil || !layoutKnown() {
		return nil
	}
	return m.list
}

// goroutine returns the number of the calling goroutine, or 0 if it is unknown. Only the goroutine
// that began a span may restore labels, and other goroutines with an ended span's labels have
// outlived the span. 32 bits are enough: after 4 billion goroutines none of these is left.
func goroutine() uint32 {
	if !layoutKnown() {
		return 0
	}
	return uint32(goruntime.GoroutineID())
}

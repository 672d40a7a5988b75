package spanlabels

import (
	"sync"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
)

// A Label is a profiler label, see runtime/pprof.Labels.
type Label struct{ Key, Value string }

// A set is a goroutine's labels, by the pointer that the runtime has. Its list is read, and sets
// are made here, only if [layoutKnown] reports true.
type set struct{ list []Label } // as goruntime.LabelSet

// layoutKnown reports whether the memory behind the runtime's label pointers is as this package
// expects. Otherwise spans are labelled through runtime/pprof, see pprofSet.
var layoutKnown = sync.OnceValue(func() bool { return goruntime.CheckLabels() == nil })

func current() *set { return (*set)(goruntime.Labels()) }

func setCurrent(m *set) { goruntime.SetLabels(unsafe.Pointer(m)) }

// labels is the set's list, nil if the layout is unknown.
func (m *set) labels() []Label {
	if m == nil || !layoutKnown() {
		return nil
	}
	return m.list
}

// goroutine is the number of the calling goroutine, or 0 if it is unknown. Only the goroutine that
// began a span may restore the labels of before, and a goroutine with the labels of a span that
// ended on another one has outlived it. 32 bits of the number are enough: 4 billion goroutines
// later none of these is left.
func goroutine() uint32 {
	if !layoutKnown() {
		return 0
	}
	return uint32(goruntime.GoroutineID())
}

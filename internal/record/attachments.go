package record

import (
	"slices"
	"sync/atomic"
)

// Attach adds a tracer to the process timeline of t. Only the most recently attached tracer
// receives entries. The function detach removes the tracer. The most recent of the remaining
// tracers then receives the entries.
func (t *Timeline) Attach(tracer Tracer) (detach func()) {
	return t.root.tracers.attach(t.root, &tracer)
}

// Tracers returns the attached tracers of t's process timeline, in the order of the calls of
// Attach. Only the last tracer in the result receives entries.
func (t *Timeline) Tracers() []Tracer {
	r := t.root
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Tracer
	for _, tracer := range r.tracers.all {
		all = append(all, *tracer)
	}
	return all
}

// Meter adds a meter to the process timeline of t. Only the most recently added meter receives
// measures. The function detach removes the meter. The most recent of the remaining meters then
// receives the measures.
func (t *Timeline) Meter(m Meter) (detach func()) { return t.root.meters.attach(t.root, &m) }

// attachments are the tracers or the meters of a process timeline.
type attachments[T any] struct {
	last atomic.Pointer[T] // of all, or nil
	all  []*T              // guarded by the root's mu
}

func (a *attachments[T]) attach(r *root, x *T) (detach func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.all = append(a.all, x)
	a.last.Store(x)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		a.all = slices.DeleteFunc(a.all, func(y *T) bool { return x == y })
		var last *T
		if n := len(a.all); n > 0 {
			last = a.all[n-1]
		}
		a.last.Store(last)
	}
}

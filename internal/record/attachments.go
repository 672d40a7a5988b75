package record

import (
	"slices"
	"sync/atomic"
)

// Attach makes tracer the tracer of t's process timeline, until detach or the next Attach.
func (t *Timeline) Attach(tracer Tracer) (detach func()) {
	return t.root.tracers.attach(t.root, &tracer)
}

// Tracers returns the tracers of t's process timeline. The last one gets the entries.
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

// Meter makes m the meter of t's process timeline, until detach or the next Meter.
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

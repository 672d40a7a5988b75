package record

import (
	"slices"
	"sync/atomic"
)

// Attach makes a tracer the one of the process timeline t belongs to, until detach is called. The
// last tracer that was attached counts.
func (t *Timeline) Attach(tracer Tracer) (detach func()) {
	return t.root.tracers.attach(t.root, &tracer)
}

// Tracers returns the tracers of the process timeline t belongs to. The last one counts.
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

// Meter makes a meter the one of the process timeline t belongs to, until detach is called. The
// last meter that was attached counts.
func (t *Timeline) Meter(m Meter) (detach func()) { return t.root.meters.attach(t.root, &m) }

// attachments are the tracers or the meters of a process timeline.
type attachments[T any] struct {
	last atomic.Pointer[T] // the one that counts; nil without one
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

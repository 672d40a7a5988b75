package observer

import (
	"fmt"
	"runtime/debug"
	"slices"
)

// arm makes sure that a collection will run.
func (r *root) arm() {
	if !r.armed.CompareAndSwap(false, true) {
		return
	}
	if r.scheduler != nil {
		r.scheduler(r.task)
		return
	}
	r.timer.Reset(r.interval)
}

// wakeNow brings the collection forward because a buffer fills up.
func (r *root) wakeNow() {
	if r.scheduler == nil {
		r.timer.Reset(0)
	}
}

// task is what a scheduler runs: collect, then call back.
func (r *root) task() {
	r.armed.Store(false) // "unset performance observer task queued flag" comes first
	r.mu.Lock()
	r.collect()
	r.mu.Unlock()
	r.deliver()
}

// onTimer collects on a goroutine of the timer's. Callbacks get a goroutine of
// their own: a slow one must not stop the collecting.
func (r *root) onTimer() {
	r.armed.Store(false)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.collect()
	if len(r.ready) > 0 && !r.taskQueued {
		r.taskQueued = true
		go r.deliver()
	}
}

// collect moves what was recorded from the inlets to the timelines' logs, the
// observers' buffers and the bridge. r.mu is held.
func (r *root) collect() {
	pass, spent := r.pass[:0], r.spent[:0]
	shared := 0 // inlets of the process timeline that had entries
	for in := r.takeDirty(); in != nil; {
		next := in.link // before take, after which in may be pushed again
		in.link = nil
		from := len(spent)
		spent = r.empty(in, spent)
		for _, c := range spent[from:] {
			for i := range c.entries[:c.n] {
				pass = append(pass, &c.entries[i])
			}
		}
		if in.tl.parent == nil && len(spent) > from {
			shared++
		}
		in = next
	}
	if shared > 1 {
		// Within one inlet the order is that of recording; between those of the
		// process timeline the clock decides.
		slices.SortStableFunc(pass, func(a, b *Entry) int {
			return int(max(-1, min(1, a.at-b.at)))
		})
	}
	r.followWall()
	for _, e := range pass {
		if e.kind != kindMessage {
			r.distribute(e)
		}
	}
	if box := r.bridge.Load(); box != nil && box.Collect(slices.Values(pass)) {
		r.arm()
	}
	for _, c := range spent {
		clear(c.entries[:c.n])
		c.n = 0
		r.chunks.Put(c)
	}
	r.inFlight.Add(-int64(len(spent)))
	clear(pass)
	clear(spent)
	r.pass, r.spent = shrink(pass), shrink(spent)
}

// shrink gives a scratch slice back for the next pass unless a burst made it huge.
func shrink[T any](s []T) []T {
	if cap(s) > 1<<14 {
		return nil
	}
	return s[:0]
}

// empty takes an inlet's chunks. A child's entries go to its log in the same
// breath: whoever reads the child holds its log's lock, and finds every entry
// either in the inlet or in the log. The process timeline's wait to be merged;
// its readers collect first. r.mu is held.
func (r *root) empty(in *inlet, into []*chunk) []*chunk {
	t := in.tl
	from := len(into)
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	into, lost := in.take(into)
	for k, n := range lost {
		r.totals[k].Overflow += n
	}
	if t.parent == nil {
		return into
	}
	for _, c := range into[from:] {
		for i := range c.entries[:c.n] {
			r.keep(&c.entries[i], t)
		}
	}
	return into
}

// keep adds e to the log of t, if it is t's and t is open. r.mu and the log's mu
// are held.
func (r *root) keep(e *Entry, t *Timeline) {
	if e.tl != t || e.kind == kindMessage || t.closed.Load() {
		return
	}
	if !t.log.add(e, t.limit, t.parent != nil) {
		r.totals[e.kind].BufferFull++
	}
}

// distribute counts e and adds it to the buffers of the observers of its
// timeline and that timeline's parents that want its type. r.mu is held.
func (r *root) distribute(e *Entry) {
	r.totals[e.kind].Recorded++
	t := e.tl
	if t.parent == nil {
		t.log.mu.Lock()
		r.keep(e, t)
		t.log.mu.Unlock()
	}
	for p := t; p != nil; p = p.parent {
		if !kindSet(p.wants.Load()).has(e.kind) {
			continue
		}
		for _, o := range p.observers {
			if o.types.has(e.kind) {
				o.add(e, p)
			}
		}
	}
}

// Deliver calls the observers that have something to be told, now and on the
// calling goroutine. When it returns, all that was recorded before the call has
// been through their callbacks. A program that is about to report or to exit
// wants that; a callback must not call it.
func (t *Timeline) Deliver() {
	t.Flush()
	t.root.deliver()
}

// deliver calls the observers that have something ("queue a PerformanceEntry",
// Performance Timeline 2, section 3, step 6), each in turn, outside r.mu.
func (r *root) deliver() {
	r.delivering.Lock()
	defer r.delivering.Unlock()
	r.mu.Lock()
	r.taskQueued = false
	notify := r.ready
	r.ready = nil
	r.mu.Unlock()
	slices.SortFunc(notify, func(a, b *Observer) int { return int(a.seq) - int(b.seq) })
	for _, o := range notify {
		r.mu.Lock()
		o.queued = false
		list, some := o.takeList()
		r.mu.Unlock()
		if some {
			r.call(o, list)
		}
	}
}

// call runs one callback; a panic is reported and survived (PT-7).
func (r *root) call(o *Observer, list List) {
	defer func() {
		if p := recover(); p != nil {
			r.log().Error("perfline: an observer's callback panicked; its entries are lost, other observers go on",
				"panic", fmt.Sprint(p), "entries", len(list.entries), "stack", string(debug.Stack()))
		}
	}()
	o.callback(list)
}

package observer

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
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
	r.unlock()
	r.deliver()
}

// onTimer collects on a goroutine of the timer's. Callbacks get a goroutine of
// their own: a slow one must not stop the collecting.
func (r *root) onTimer() {
	r.armed.Store(false)
	r.mu.Lock()
	defer r.unlock()
	r.collect()
	if len(r.ready) > 0 && !r.taskQueued {
		r.taskQueued = true
		go r.deliverAll()
	}
}

// unlock releases r.mu and sees to it that another collection runs if one is
// wanted. A scheduler, being the caller's, is never called with r.mu held.
func (r *root) unlock() {
	again := r.again
	r.again = false
	r.mu.Unlock()
	if again {
		r.arm()
	}
}

// collect moves what was recorded from the inlets to the timelines' logs, the
// observers' buffers and the bridge. r.mu is held, and released with unlock.
func (r *root) collect() {
	segs, pass, spent := r.segs[:0], r.pass[:0], r.spent[:0]
	until := time.Duration(r.recorded.Load())
	if r.clock == nil {
		until = r.now()
	}
	inlets, rest := 0, false
	for in := r.takeDirty(); in != nil; {
		next := in.link // before the inlet is emptied, after which it may be pushed again
		in.link = nil
		from := len(segs)
		var more bool
		if segs, spent, more = r.empty(in, until, segs, spent); more {
			rest = true
		}
		for _, seg := range segs[from:] {
			for i := range seg {
				pass = append(pass, &seg[i])
			}
		}
		if len(segs) > from {
			inlets++
		}
		in = next
	}
	if inlets > 1 {
		// Within one inlet the order is that of recording; between them the clock decides.
		slices.SortStableFunc(pass, func(a, b *Entry) int { return cmp.Compare(a.at, b.at) })
	}
	r.followWall()
	for _, e := range pass {
		if e.kind != kindMessage {
			r.distribute(e)
		}
	}
	again := false
	if box := r.bridge.Load(); box != nil {
		again = box.Collect(slices.Values(pass))
	}
	r.again = r.again || again || rest
	for _, c := range spent {
		clear(c.entries[:c.n])
		c.n, c.latest = 0, 0
		r.chunks.Put(c)
	}
	r.inFlight.Add(-int64(len(spent)))
	clear(segs)
	clear(pass)
	clear(spent)
	r.segs, r.pass, r.spent = shrink(segs), shrink(pass), shrink(spent)
}

// shrink gives a scratch slice back for the next pass unless a burst made it huge.
func shrink[T any](s []T) []T {
	if cap(s) > 1<<14 {
		return nil
	}
	return s[:0]
}

// empty takes an inlet's entries up to the moment until. A child's go to its log
// in the same breath: whoever reads the child holds its log's lock, and finds
// every entry either in the inlet or in the log. The process timeline's wait to
// be merged; its readers collect first. r.mu is held.
func (r *root) empty(in *inlet, until time.Duration, segs []segment, spent []*chunk) (_ []segment, _ []*chunk, more bool) {
	t := in.tl
	from := len(segs)
	t.log.mu.Lock()
	defer t.log.mu.Unlock()
	segs, spent, lost, more := r.take(in, until, segs, spent)
	for k, n := range lost {
		r.totals[k].Overflow += n
	}
	if t.parent == nil {
		return segs, spent, more
	}
	for _, seg := range segs[from:] {
		for i := range seg {
			r.keep(&seg[i], t)
		}
	}
	return segs, spent, more
}

// keep adds e to the log of t, if it is t's and t is open. r.mu and the log's mu
// are held.
func (r *root) keep(e *Entry, t *Timeline) {
	if e.tl != t || e.kind == kindMessage || (t.closed.Load() && t.wants.Load() == 0) {
		return // for nobody to read
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
	if t.root.deliver() {
		t.root.arm() // what others recorded meanwhile is the timeline's own business
	}
}

// deliverAll delivers on a goroutine of the timeline's, until nothing is left.
func (r *root) deliverAll() {
	defer func() { // also when a callback ends the goroutine
		r.mu.Lock()
		defer r.unlock()
		r.taskQueued = false
		r.again = r.again || len(r.ready) > 0
	}()
	for more := true; more; {
		more = r.deliver()
	}
}

// deliver calls the observers that have something ("queue a PerformanceEntry",
// Performance Timeline 2, section 3, step 6), each once and in turn, outside
// r.mu, and reports whether some have got more meanwhile. Only one goroutine
// calls at a time; others wait for it.
func (r *root) deliver() (more bool) {
	r.mu.Lock()
	defer r.unlock()
	for r.calling != nil {
		calling := r.calling
		r.mu.Unlock()
		<-calling
		r.mu.Lock()
	}
	r.calling = make(chan struct{})
	notify := r.ready
	r.ready = nil
	defer func() {
		close(r.calling)
		r.calling = nil
		if len(notify) > 0 { // a callback ended its goroutine: the rest is for another
			r.ready = append(notify, r.ready...)
			r.again = true
		}
	}()
	slices.SortFunc(notify, func(a, b *Observer) int { return cmp.Compare(a.seq, b.seq) })
	for len(notify) > 0 {
		o := notify[0]
		notify = notify[1:]
		o.queued = false
		if list, some := o.takeList(); some {
			r.call(o, list)
		}
	}
	return len(r.ready) > 0 && r.scheduler == nil // with a scheduler a task of its own is on its way
}

// call runs one callback with r.mu released; a panic is reported and survived
// (PT-7).
func (r *root) call(o *Observer, list List) {
	r.mu.Unlock()
	defer r.mu.Lock()
	defer func() {
		if p := recover(); p != nil {
			r.log().Error("perfline: an observer's callback panicked; its entries are lost, other observers go on",
				"panic", fmt.Sprint(p), "entries", len(list.entries), "stack", string(debug.Stack()))
		}
	}()
	o.callback(list)
}

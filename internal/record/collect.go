package record

import (
	"cmp"
	"slices"
)

// arm makes sure that a collection will run.
func (r *root) arm() {
	if !r.armed.CompareAndSwap(false, true) {
		return
	}
	if r.scheduler == nil {
		r.timer.Reset(r.interval)
		return
	}
	scheduled := false
	defer func() {
		if !scheduled { // the next record tries again
			r.armed.Store(false)
		}
	}()
	scheduled = r.try("the Scheduler of a timeline", func() { r.scheduler(r.task) })
}

// wake sees to it that a collection runs, and at once if much waits. No lock is held: a scheduler
// is the caller's.
func (r *root) wake() {
	r.arm()
	if r.scheduler == nil && r.inFlight.Load() >= r.urgentAt {
		r.timer.Reset(0)
	}
}

// task is what a scheduler runs: collect, then call back.
func (r *root) task() {
	r.armed.Store(false) // "unset performance observer task queued flag" comes first
	r.lock()
	r.unlock()
	r.deliver()
}

// onTimer collects on a goroutine of the timer's. Callbacks run on another one, because a slow
// callback must not stop the collecting.
func (r *root) onTimer() {
	r.armed.Store(false)
	r.lock()
	defer r.unlock()
	switch {
	case len(r.ready) == 0:
	case r.calling != nil:
		r.overdue = true
	default:
		r.calling = make(chan struct{})
		go r.callObservers()
	}
}

// lock takes r.mu and collects what was recorded before.
func (r *root) lock() {
	if r.clock != nil { // the caller's clock is not read with r.mu held
		r.clock()
	}
	r.mu.Lock()
	r.collect()
}

// unlock releases r.mu and arms another collection if one is wanted: a scheduler, which is the
// caller's, is not called with r.mu held.
func (r *root) unlock() {
	again := r.again
	r.again = false
	r.mu.Unlock()
	if again {
		r.arm()
	}
}

// collect moves what was recorded from the inlets to the process timeline's buffer and the
// observers' buffers. r.mu is held, and released with unlock.
func (r *root) collect() {
	inlets := r.take()
	for _, c := range r.taken {
		for i := range c.entries[:c.n] {
			r.entries = append(r.entries, &c.entries[i])
		}
	}
	collections := r.collectGC()
	// a clock of the timeline's own has one inlet
	if r.clock == nil && (collections || inlets > 1) {
		merge(r.entries)
	}
	r.followWall()
	r.distribute(r.watching.Load() > 0)
	for _, c := range r.taken {
		r.chunks.Put(c)
	}
	r.inFlight.Add(-int64(len(r.taken)))
	r.slab = attrSlab{}
	clear(r.taken)
	clear(r.entries)
	r.taken = r.taken[:0]
	if r.entries = r.entries[:0]; cap(r.entries) > 1<<14 { // after a burst
		r.entries = nil
	}
}

// distribute counts the process timeline's entries of the pass, adds them to its buffer, and shows
// all entries to observers. r.mu is held.
func (r *root) distribute(watched bool) {
	var own *Timeline // the process timeline, when its mu is held
	for _, e := range r.entries {
		if e.tl.unit == nil {
			r.totals[e.kind].Recorded++
			if e.kind == kindMark && e.ids == (SpanIDs{}) {
				r.unattached++
			}
			if own == nil {
				own = e.tl
				own.mu.Lock()
				defer own.mu.Unlock()
			}
			if !own.keep(e, e.attrs) {
				r.totals[e.kind].BufferFull++
			}
		}
		if watched {
			r.show(*e)
		}
	}
}

// show adds e to the buffers of the observers that want it. r.mu is held.
func (r *root) show(e Entry) {
	stored := false
	for p := e.tl; p != nil; p = p.parent {
		if !kindSet(p.wants.Load()).has(e.kind) {
			continue
		}
		for _, o := range p.registered() {
			if !o.types.has(e.kind) {
				continue
			}
			if !stored {
				stored = true
				e.attrs = r.slab.keep(e.attrs)
			}
			o.add(e, p)
		}
	}
}

// Deliver calls the observers now: see [observer.Timeline.Deliver].
func (t *Timeline) Deliver() {
	t.Flush()
	t.root.deliver()
}

// deliver calls the observers on the calling goroutine, when no callbacks run on another one.
func (r *root) deliver() {
	r.mu.Lock()
	for r.calling != nil {
		calling := r.calling
		r.mu.Unlock()
		<-calling
		r.mu.Lock()
	}
	r.calling = make(chan struct{})
	r.mu.Unlock()
	r.callObservers()
}

// callObservers calls each observer that has entries once, in the order of registration ("queue a
// PerformanceEntry", Performance Timeline 2, section 3, step 6). Entries that a callback records
// reach later observers in the same round, because the specification takes a buffer right before
// its callback. Entries for earlier observers, and new observers, wait for the next round, which
// the timer or the scheduler begins: an observer that feeds itself does not spin. The caller has
// set r.calling.
func (r *root) callObservers() {
	r.mu.Lock()
	defer r.unlock()
	defer func() { // also when a callback ends its goroutine
		close(r.calling)
		r.calling = nil
		if r.overdue {
			r.overdue = false
			go r.deliver()
		} else if len(r.ready) > 0 {
			r.again = true
		}
	}()
	newest := r.registered
	for o := r.nextReady(0, newest); o != nil; {
		seq := o.seq // the callback may register o anew
		r.call(o, o.takeBatch())
		r.collect()
		o = r.nextReady(seq, newest)
	}
}

// nextReady returns the first observer with entries that was registered after from and not after
// to, or nil. r.mu is held.
func (r *root) nextReady(from, to uint64) *Observer {
	i, _ := slices.BinarySearchFunc(r.ready, from+1, bySeq)
	if i == len(r.ready) || r.ready[i].seq > to {
		return nil
	}
	return r.ready[i]
}

func bySeq(o *Observer, seq uint64) int { return cmp.Compare(o.seq, seq) }

// call runs one callback with r.mu released. Each panic is reported and survived: the callback's
// entries are lost, and other observers go on (PT-7).
func (r *root) call(o *Observer, batch Batch) {
	r.unlock()
	over := false
	defer func() {
		if !over {
			p := recover()
			r.panics.Add(1)
			r.report(r.logger, p,
				"perfline: an observer's callback panicked; its entries are lost, other observers go on", "entries", len(batch.Entries))
		}
		r.mu.Lock()
	}()
	o.callback(batch)
	over = true
}

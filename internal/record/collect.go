package record

import (
	"cmp"
	"slices"
)

// arm schedules a collection.
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
		if !scheduled { // the next entry tries again
			r.armed.Store(false)
		}
	}()
	scheduled = r.try("the Scheduler of a timeline", func() { r.scheduler(r.task) })
}

// wake is arm, at once if many chunks wait. No lock is held: wake may call the program's scheduler.
func (r *root) wake() {
	r.arm()
	if r.scheduler == nil && r.inFlight.Load() >= r.urgentAt {
		r.timer.Reset(0)
	}
}

// task is the function of a scheduler: task collects, then calls the observers.
func (r *root) task() {
	r.armed.Store(false) // "unset performance observer task queued flag" comes first
	r.lock()
	r.unlock()
	r.deliver()
}

// onTimer collects. Callbacks run on another goroutine: a slow one does not stop collections.
func (r *root) onTimer() {
	r.armed.Store(false)
	r.lock()
	defer r.unlock()
	switch {
	case len(r.ready) == 0:
	case r.round != nil:
		r.overdue = true
	default:
		r.round = make(chan struct{})
		go r.callObservers()
	}
}

// lock locks r.mu and collects earlier entries.
func (r *root) lock() {
	if r.clock != nil { // the program's clock is not read with r.mu held
		r.clock()
	}
	r.mu.Lock()
	r.collect()
}

// unlock unlocks r.mu, then schedules a wanted collection: no scheduler is called with r.mu held.
func (r *root) unlock() {
	again := r.wantsPass
	r.wantsPass = false
	r.mu.Unlock()
	if again {
		r.arm()
	}
}

// collect moves entries from the inlets to the buffers of the process timeline and of observers.
// r.mu is held. The caller calls unlock.
func (r *root) collect() {
	inlets := r.take()
	for _, c := range r.passChunks {
		for i := range c.entries[:c.n] {
			r.passEntries = append(r.passEntries, &c.entries[i])
		}
	}
	collections := r.collectGC()
	// A timeline with a clock of the program has one inlet.
	if r.clock == nil && (collections || inlets > 1) {
		merge(r.passEntries)
	}
	r.followWall()
	r.distribute(r.watching.Load() > 0)
	for _, c := range r.passChunks {
		r.chunks.Put(c)
	}
	r.inFlight.Add(-int64(len(r.passChunks)))
	r.slab = attrSlab{}
	clear(r.passChunks)
	clear(r.passEntries)
	r.passChunks = r.passChunks[:0]
	if r.passEntries = r.passEntries[:0]; cap(r.passEntries) > 1<<14 { // after a burst
		r.passEntries = nil
	}
}

// distribute counts the process timeline's entries of the pass, adds them to the timeline's buffer,
// and gives all entries to observers. r.mu is held.
func (r *root) distribute(watched bool) {
	var own *Timeline // the process timeline, when its mu is held
	for _, e := range r.passEntries {
		if e.tl.unit == nil {
			r.totals[e.kind].Recorded++
			if e.kind == kindMark && e.ids == (SpanIDs{}) {
				r.looseMarks++
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
			r.notify(*e)
		}
	}
}

// notify adds e to the buffers of the observers that want e. r.mu is held.
func (r *root) notify(e Entry) {
	stored := false
	for p := e.tl; p != nil; p = p.parent {
		if !kindSet(p.wants.Load()).has(e.kind) {
			continue
		}
		for _, o := range p.observerList() {
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

// Deliver calls the callbacks of the observers, on the goroutine that calls Deliver.
// [observer.Timeline.Deliver] documents the guarantees.
func (t *Timeline) Deliver() {
	t.Flush()
	t.root.deliver()
}

// deliver waits for the current round of callbacks, and runs another on the calling goroutine.
func (r *root) deliver() {
	r.mu.Lock()
	for r.round != nil {
		calling := r.round
		r.mu.Unlock()
		<-calling
		r.mu.Lock()
	}
	r.round = make(chan struct{})
	r.mu.Unlock()
	r.callObservers()
}

// callObservers calls each observer that has entries once, in the order of registration ("queue a
// PerformanceEntry", Performance Timeline 2, section 3, step 6). Entries that a callback records
// reach later observers in the same round, because the specification takes a buffer right before
// its callback. Entries for earlier observers, and new observers, wait for the next round of the
// timer or the scheduler: an observer that feeds itself does not spin. The caller has set r.round.
func (r *root) callObservers() {
	r.mu.Lock()
	defer r.unlock()
	defer func() { // also when a callback calls Goexit
		close(r.round)
		r.round = nil
		if r.overdue {
			r.overdue = false
			go r.deliver()
		} else if len(r.ready) > 0 {
			r.wantsPass = true
		}
	}()
	newest := r.registrations
	for o := r.nextReady(0, newest); o != nil; {
		seq := o.seq // the callback may register o again
		r.call(o, o.takeBatch())
		r.collect()
		o = r.nextReady(seq, newest)
	}
}

// nextReady returns the first ready observer with a number in (from, to], or nil. r.mu is held.
func (r *root) nextReady(from, to uint64) *Observer {
	i, _ := slices.BinarySearchFunc(r.ready, from+1, bySeq)
	if i == len(r.ready) || r.ready[i].seq > to {
		return nil
	}
	return r.ready[i]
}

func bySeq(o *Observer, seq uint64) int { return cmp.Compare(o.seq, seq) }

// call runs one callback with r.mu unlocked. A panic is reported: the entries of the callback are
// lost, and other observers still run (PT-7).
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

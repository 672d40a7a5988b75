package record

import (
	"errors"
	"log/slog"
	"slices"
)

var errClosed = errors.New(
	"observer: the timeline is closed: its request is over and it records nothing more")

// A Batch is what the callback of an observer gets: entries in the order of recording.
type Batch struct {
	Entries []Entry

	// Dropped is how many entries of the observed types the timeline's buffer had no room for
	// (PT-29). It is valid if HasDropped is true, as in the first batch after Register.
	Dropped    uint64
	HasDropped bool
}

// A Registration says what an observer gets.
type Registration struct {
	Types    []Type // the types that are not supported are ignored
	Add      bool   // to the types that it has, in place of them
	Buffered bool   // the entries that the timeline's buffer has already, too
	// entries that wait for the callback; further ones are lost and counted as ObserverFull
	MaxBuffer int
}

// An Observer is a callback of a timeline. Its methods may be called concurrently and from its own
// callback.
type Observer struct {
	tl       *Timeline
	callback func(Batch)

	// Guarded by the root's mu.
	seq        uint64 // order of registration; it changes only while the buffer is empty
	types      kindSet
	max        int
	buffer     []Entry
	bytes      int    // of buffer, with what it refers to
	lost       uint64 // entries that the buffer had no room for
	hint       int    // room to begin a buffer with: what the last one held
	registered bool
	needsDrops bool   // the next callback tells the dropped count (PT-29)
	dropped    uint64 // that count, once the timeline is closed
}

// NewObserver returns an observer that is not registered yet.
func (t *Timeline) NewObserver(callback func(Batch)) *Observer {
	return &Observer{tl: t, callback: callback}
}

// Register changes what an observer gets, or registers it again after Disconnect. It returns an
// error if the timeline is closed.
func (o *Observer) Register(opts Registration) error {
	r, types := o.tl.root, kindsOf(opts.Types)
	r.mu.Lock()
	defer r.unlock()
	if o.tl.hasEnded() {
		return errClosed
	}
	// Earlier entries come from the buffer, and later ones as they are collected. No entry comes
	// both ways, because a process timeline's buffer changes only in a collection.
	if o.tl.unit != nil {
		o.tl.mu.Lock()
	}
	r.collect() // what was recorded before is not for this registration
	if o.tl.unit == nil {
		o.tl.mu.Lock()
	}
	defer o.tl.mu.Unlock()
	if !o.registered {
		o.types = 0 // of an earlier registration
	}
	if opts.Add {
		o.types |= types
	} else {
		o.types = types
	}
	o.max = opts.MaxBuffer
	o.needsDrops = true
	if !o.registered {
		o.registered = true
		r.watching.Add(1)
		r.registered++
		o.seq = r.registered
		if o.tl.observers == nil {
			o.tl.observers = new([]*Observer)
		}
		*o.tl.observers = append(*o.tl.observers, o)
	}
	o.tl.updateWants()
	if o.tl.hasEnded() { // meanwhile, and it may not have seen us
		o.unregister()
		return errClosed
	}
	if opts.Buffered {
		o.tl.show()
		if o.tl.buffer != nil {
			for _, e := range o.tl.buffer.entries {
				if types.has(e.kind) {
					o.add(e, o.tl)
				}
			}
		}
		r.again = true
	}
	return nil
}

func kindsOf(types []Type) (set kindSet) {
	for _, t := range types {
		if k, ok := kindOf(t); ok {
			set |= 1 << k
		}
	}
	return set
}

// Disconnect unregisters the observer and empties its buffer.
func (o *Observer) Disconnect() {
	r := o.tl.root
	r.lock() // entries recorded before belong to the registration that ends
	defer r.unlock()
	o.unregister()
	o.empty()
}

// TakeRecords empties the observer's buffer, and returns the entries in the order of recording.
func (o *Observer) TakeRecords() []Entry {
	r := o.tl.root
	r.lock()
	defer r.unlock()
	return o.empty()
}

// Lost returns how many entries the observer lost because its buffer was full.
func (o *Observer) Lost() uint64 {
	r := o.tl.root
	r.lock()
	defer r.unlock()
	return o.lost
}

// unregister takes o off its timeline's list. The root's mu is held.
func (o *Observer) unregister() {
	if !o.registered {
		return
	}
	o.registered = false
	o.tl.root.watching.Add(-1)
	*o.tl.observers = slices.DeleteFunc(*o.tl.observers, func(x *Observer) bool { return x == o })
	o.tl.updateWants()
}

// registered returns t's observers. The root's mu is held.
func (t *Timeline) registered() []*Observer {
	if t.observers == nil {
		return nil
	}
	return *t.observers
}

// updateWants is called when t's observers have changed. The root's mu is held.
func (t *Timeline) updateWants() {
	var all kindSet
	for _, o := range t.registered() {
		all |= o.types
	}
	t.wants.Store(uint32(all))
	if t.unit == nil {
		t.root.watchGC(t, all.has(kindGC))
	}
}

// maxObserverBytes bounds the buffer of an observer, whatever its MaxBuffer.
const maxObserverBytes = 32 << 20

// add appends a copy of e, as seen from timeline p, to the observer's buffer. The root's mu is
// held.
func (o *Observer) add(e Entry, p *Timeline) {
	r := o.tl.root
	size := e.size()
	if len(o.buffer) >= o.max || o.bytes+size > maxObserverBytes {
		r.totals[e.kind].ObserverFull++
		o.lost++
		return
	}
	e.base = p.origin
	if o.buffer == nil {
		o.buffer = make([]Entry, 0, max(o.hint, minRoom))
		i, _ := slices.BinarySearchFunc(r.ready, o.seq, bySeq)
		r.ready = slices.Insert(r.ready, i, o)
	}
	o.buffer = append(o.buffer, e)
	o.bytes += size
}

// empty takes what is in the buffer. The root's mu is held.
func (o *Observer) empty() []Entry {
	if o.buffer == nil {
		return nil
	}
	r := o.tl.root
	i, _ := slices.BinarySearchFunc(r.ready, o.seq, bySeq)
	r.ready = slices.Delete(r.ready, i, i+1)
	taken := o.buffer
	o.buffer, o.bytes = nil, 0
	o.hint = min(len(taken), 1<<12) // one burst does not make every later buffer as large
	return taken
}

// takeBatch empties the buffer into a Batch. The root's mu is held.
func (o *Observer) takeBatch() Batch {
	b := Batch{Entries: o.empty()}
	for i := range b.Entries {
		o.tl.root.totals[b.Entries[i].kind].Delivered++
	}
	if o.needsDrops {
		o.needsDrops = false
		b.HasDropped = true
		if o.registered {
			o.countDropped()
		}
		b.Dropped = o.dropped
	}
	return b
}

// countDropped counts the entries that the timeline's buffer had no room for. The root's mu is
// held.
func (o *Observer) countDropped() {
	o.tl.mu.Lock()
	defer o.tl.mu.Unlock()
	o.tl.fillBuffer() // also as its unit has ended
	o.dropped = 0
	if o.tl.buffer == nil {
		return
	}
	for k, n := range o.tl.buffer.full {
		if o.types.has(kind(k)) {
			o.dropped += n
		}
	}
}

// Logger returns the logger of the process timeline t belongs to.
func (t *Timeline) Logger() *slog.Logger { return t.root.logger }

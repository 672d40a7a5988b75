package record

import (
	"errors"
	"log/slog"
	"slices"
)

var errClosed = errors.New(
	"observer: the timeline is closed: its request is over and it records nothing more")

// A Batch contains the entries for one call of an observer's callback, in the order of recording.
type Batch struct {
	Entries []Entry

	// Dropped is the number of entries that did not fit into the timeline's buffer (PT-29). Only
	// entries of the observed types count. HasDropped is true only in the first batch after
	// Register.
	Dropped    uint64
	HasDropped bool
}

// A Registration configures an observer.
type Registration struct {
	Types     []Type // unsupported types are ignored
	Add       bool   // adds Types to the earlier types
	Buffered  bool   // also delivers the entries in the timeline's buffer
	MaxBuffer int    // entries before a callback; further entries are lost as ObserverFull
}

// An Observer calls a callback for the entries of a timeline. The callback may call the methods of
// the Observer.
type Observer struct {
	tl       *Timeline
	callback func(Batch)

	// The root's mu guards the fields below.
	seq        uint64 // the registration number; changes only while the buffer is empty
	types      kindSet
	max        int
	buffer     []Entry
	bytes      int    // of buffer, with the memory that its entries refer to
	lost       uint64 // entries without room in buffer
	hint       int    // the first capacity of a buffer: the length of the last one
	registered bool
	needsDrops bool   // the next batch has dropped (PT-29)
	dropped    uint64 // the final count of drops, after the end of the timeline
}

// NewObserver returns an unregistered observer. Call [Observer.Register] to register the observer.
func (t *Timeline) NewObserver(callback func(Batch)) *Observer {
	return &Observer{tl: t, callback: callback}
}

// Register registers the observer, or changes the options of a registered observer. Register
// returns an error if the timeline is closed.
func (o *Observer) Register(opts Registration) error {
	r, types := o.tl.root, kindsOf(opts.Types)
	r.mu.Lock()
	defer r.unlock()
	if o.tl.hasEnded() {
		return errClosed
	}
	// Earlier entries come from the buffer, later entries from collections. No entry comes from
	// both: a process timeline's buffer changes only in a collection, a unit's with mu held.
	if o.tl.unit != nil {
		o.tl.mu.Lock()
	}
	r.collect() // earlier entries are not for this registration
	if o.tl.unit == nil {
		o.tl.mu.Lock()
	}
	defer o.tl.mu.Unlock()
	if !o.registered {
		o.types = 0
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
		r.registrations++
		o.seq = r.registrations
		if o.tl.observers == nil {
			o.tl.observers = new([]*Observer)
		}
		*o.tl.observers = append(*o.tl.observers, o)
	}
	o.tl.updateWants()
	if o.tl.hasEnded() { // the end of the unit may have missed this observer
		o.unregister()
		return errClosed
	}
	if opts.Buffered {
		o.tl.syncBuffer()
		if o.tl.buffer != nil {
			for _, e := range o.tl.buffer.entries {
				if types.has(e.kind) {
					o.add(e, o.tl)
				}
			}
		}
		r.wantsPass = true
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

// Disconnect unregisters the observer and empties the observer's buffer.
func (o *Observer) Disconnect() {
	r := o.tl.root
	r.lock() // earlier entries belong to the old registration
	defer r.unlock()
	o.unregister()
	o.empty()
}

// TakeRecords empties the observer's buffer. TakeRecords returns the removed entries in the order
// of recording.
func (o *Observer) TakeRecords() []Entry {
	r := o.tl.root
	r.lock()
	defer r.unlock()
	return o.empty()
}

// Lost returns the number of entries that did not fit into the observer's buffer.
func (o *Observer) Lost() uint64 {
	r := o.tl.root
	r.lock()
	defer r.unlock()
	return o.lost
}

// unregister removes o from its timeline. The root's mu is held.
func (o *Observer) unregister() {
	if !o.registered {
		return
	}
	o.registered = false
	o.tl.root.watching.Add(-1)
	*o.tl.observers = slices.DeleteFunc(*o.tl.observers, func(x *Observer) bool { return x == o })
	o.tl.updateWants()
}

// observerList returns t's observers. The root's mu is held.
func (t *Timeline) observerList() []*Observer {
	if t.observers == nil {
		return nil
	}
	return *t.observers
}

// updateWants updates t.wants after a change of t's observers. The root's mu is held.
func (t *Timeline) updateWants() {
	var all kindSet
	for _, o := range t.observerList() {
		all |= o.types
	}
	t.wants.Store(uint32(all))
	if t.unit == nil {
		t.root.watchGC(t, all.has(kindGC))
	}
}

// maxObserverBytes bounds the buffer of an observer, in addition to MaxBuffer.
const maxObserverBytes = 32 << 20

// add appends e, as an entry of timeline p, to the observer's buffer. The root's mu is held.
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

// empty empties the buffer and returns its entries. The root's mu is held.
func (o *Observer) empty() []Entry {
	if o.buffer == nil {
		return nil
	}
	r := o.tl.root
	i, _ := slices.BinarySearchFunc(r.ready, o.seq, bySeq)
	r.ready = slices.Delete(r.ready, i, i+1)
	taken := o.buffer
	o.buffer, o.bytes = nil, 0
	o.hint = min(len(taken), 1<<12) // a burst does not enlarge every later buffer
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

// countDropped counts the entries without room in the timeline's buffer. The root's mu is held.
func (o *Observer) countDropped() {
	o.tl.mu.Lock()
	defer o.tl.mu.Unlock()
	o.tl.fillBuffer() // the journal's entries, also during the end of the unit
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

// Logger returns the logger of the process timeline that t belongs to.
func (t *Timeline) Logger() *slog.Logger { return t.root.logger }

package observer

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
)

// DefaultMaxBuffer is how many undelivered entries an observer holds.
const DefaultMaxBuffer = 1 << 14

// ErrModification is wrapped by errors of an Observe that mixes Type and Types
// on one observer (the specification's InvalidModificationError). The first
// Observe decides which of the two the observer takes, also after Disconnect.
var ErrModification = errors.New("an observer is used either with Type or with Types")

var errClosed = errors.New("observer: the timeline is closed: its request is over and it records nothing more")

// Options says what an observer wants (PerformanceObserverInit). Exactly one of
// Types and Type is set.
type Options struct {
	// Types are the entry types to observe. Observing again with Types replaces
	// the earlier ones. Types that are not supported are ignored and logged.
	Types []Type

	// Type is a single entry type. Observing again with another Type adds it,
	// with the same one replaces its options.
	Type Type

	// Buffered asks for the entries of Type that the timeline's buffer holds
	// already. It goes with Type only and is ignored, and logged, with Types.
	Buffered bool

	// MaxBuffer is how many undelivered entries the observer holds; further
	// ones are lost and counted as ObserverFull. 0 means DefaultMaxBuffer.
	MaxBuffer int
}

// An Observer is a registered callback (PerformanceObserver). Its methods may be
// called concurrently and from its own callback.
type Observer struct {
	tl       *Timeline
	callback func(List)
	single   bool // made with Type, not with Types; it never changes

	// Guarded by the root's mu.
	seq        uint64 // order of registration; it changes only while the buffer is empty
	types      kindSet
	max        int
	buffer     []Entry
	lost       uint64 // entries that the buffer had no room for
	hint       int    // room to begin a buffer with: what the last one held
	registered bool
	needsDrops bool   // the next callback tells the dropped count (PT-29)
	dropped    uint64 // that count, once the timeline is closed
	options    Options
}

// Observe registers callback for the entries that o names. A nil callback, no
// type at all, both Types and Type, and no supported type among them are
// errors, and nothing is registered.
func (t *Timeline) Observe(callback func(List), o Options) (*Observer, error) {
	if callback == nil {
		return nil, errors.New("observer: callback is nil: Observe needs a function to call")
	}
	obs := &Observer{tl: t, callback: callback, single: o.Type != ""}
	if err := obs.Observe(o); err != nil {
		return nil, err
	}
	return obs, nil
}

// Observe changes what an observer wants, or registers it again after
// Disconnect; see [Options] for how calls combine. Its buffered entries stay. It
// returns the same errors as [Timeline.Observe], and [ErrModification] for Type on
// an observer that was made with Types, or Types on one made with Type.
func (o *Observer) Observe(opts Options) error {
	given := opts.Types
	switch {
	case opts.Type != "" && given != nil:
		return fmt.Errorf("observer: Types %v and Type %q: only one of the two may be set", given, opts.Type)
	case opts.Type != "":
		given = []Type{opts.Type}
	case given == nil:
		return errors.New("observer: neither Types nor Type is set: one of them must name what to observe")
	}
	if single := opts.Type != ""; single != o.single {
		return fmt.Errorf("observer: Observe of %q: %w", given, ErrModification)
	}
	types, ignored, err := kinds(given)
	if err != nil {
		return err
	}
	if err := o.register(opts, types); err != nil {
		return err
	}
	log := o.tl.root.log() // the caller's, so not called with the root's mu held
	if len(ignored) > 0 {
		log.Warn("perfline: entry types not supported, ignored", "types", ignored, "supported", SupportedEntryTypes())
	}
	if opts.Buffered && opts.Type == "" {
		log.Warn("perfline: Buffered is ignored with Types; observe each Type by itself", "types", opts.Types)
	}
	return nil
}

// register does what Observe does once the options are found right.
func (o *Observer) register(opts Options, types kindSet) error {
	r := o.tl.root
	r.mu.Lock()
	defer r.unlock()
	if o.tl.closed.Load() {
		return errClosed
	}
	// What is recorded before comes from the buffer, what is recorded after it as it is collected, and nothing both ways. A
	// process timeline's buffer changes in a collection only.
	if o.tl.parent != nil {
		o.tl.mu.Lock()
	}
	r.collect() // what was recorded before is not for this registration
	if o.tl.parent == nil {
		o.tl.mu.Lock()
	}
	defer o.tl.mu.Unlock()
	if !o.registered {
		o.types = 0 // of an earlier registration
	}
	if o.single {
		o.types |= types
	} else {
		o.types = types
	}
	o.options = opts
	o.options.Types = slices.Clone(opts.Types)
	o.max = opts.MaxBuffer
	if o.max <= 0 {
		o.max = DefaultMaxBuffer
	}
	o.needsDrops = true
	if !o.registered {
		o.registered = true
		r.watching.Add(1)
		r.registered++
		o.seq = r.registered
		o.tl.observers = append(o.tl.observers, o)
	}
	o.tl.updateWants()
	if o.tl.closed.Load() { // meanwhile, and it may not have seen us
		o.unregister()
		return errClosed
	}
	if opts.Buffered && o.single {
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

// kinds returns the kinds of the given types, and the types that are not
// supported. At least one must be supported.
func kinds(given []Type) (set kindSet, ignored []Type, err error) {
	for _, t := range given {
		if k, ok := kindOf(t); ok {
			set |= 1 << k
		} else {
			ignored = append(ignored, t)
		}
	}
	if set == 0 {
		return 0, nil, fmt.Errorf("observer: none of the types %q is supported; supported are %q", given, SupportedEntryTypes())
	}
	return set, ignored, nil
}

// Disconnect unregisters the observer and empties its buffer. It is harmless
// when it is not registered. The observer may Observe again, with Type if it was
// made with Type, else with Types.
func (o *Observer) Disconnect() {
	r := o.tl.root
	r.lock() // entries recorded before belong to the registration that ends
	defer r.unlock()
	o.unregister()
	o.empty()
}

// TakeRecords returns what waits to be delivered, in the order in which it was
// queued, and empties the buffer.
func (o *Observer) TakeRecords() []Entry {
	r := o.tl.root
	r.lock()
	defer r.unlock()
	return o.empty()
}

// Lost is how many entries the observer lost since it was made because it had
// [Options].MaxBuffer of them already; [Stats] counts them as ObserverFull.
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
	o.tl.observers = slices.DeleteFunc(o.tl.observers, func(x *Observer) bool { return x == o })
	o.tl.updateWants()
}

// updateWants is called when t's observers have changed. The root's mu is held.
func (t *Timeline) updateWants() {
	var all kindSet
	for _, o := range t.observers {
		all |= o.types
	}
	t.wants.Store(uint32(all))
	if t.parent == nil {
		t.root.watchGC(t, all.has(kindGC))
	}
}

// add appends a copy of e, as seen from timeline p, to the observer's buffer.
// The root's mu is held.
func (o *Observer) add(e Entry, p *Timeline) {
	r := o.tl.root
	if len(o.buffer) >= o.max {
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
}

// maxHint keeps one burst from making every later buffer as large.
const maxHint = 1 << 12

// empty takes what is in the buffer. The root's mu is held.
func (o *Observer) empty() []Entry {
	if o.buffer == nil {
		return nil
	}
	r := o.tl.root
	i, _ := slices.BinarySearchFunc(r.ready, o.seq, bySeq)
	r.ready = slices.Delete(r.ready, i, i+1)
	taken := o.buffer
	o.buffer = nil
	o.hint = min(len(taken), maxHint)
	return taken
}

// takeList empties the buffer into a List. The root's mu is held.
func (o *Observer) takeList() List {
	l := List{observer: o, options: o.options, entries: o.empty()}
	for i := range l.entries {
		o.tl.root.totals[l.entries[i].kind].Delivered++
	}
	if o.needsDrops {
		o.needsDrops = false
		l.hasDropped = true
		if o.registered {
			o.countDropped()
		}
		l.dropped = o.dropped
	}
	return l
}

// countDropped counts the entries that the timeline's buffer had no room for. The root's mu is held.
func (o *Observer) countDropped() {
	o.tl.mu.Lock()
	defer o.tl.mu.Unlock()
	o.tl.fillBuffer() // also as it is closed
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

func (r *root) log() *slog.Logger {
	if r.logger != nil {
		return r.logger
	}
	return slog.Default()
}

package observer

import (
	"context"
	"iter"
	"time"
)

// A Bridge ties a timeline and its children to a tracing system. A process
// timeline has at most one; package bridge implements it for OpenTelemetry.
//
//   - Scope and Start run on the goroutines that record. They must be quick,
//     must not block, and may be called concurrently.
//   - Collect runs on one goroutine at a time, with the timeline's lock held: it
//     must not block on anything that waits for a timeline, and it may record.
type Bridge interface {
	// Scope tells what is active in ctx, to be found again as [Entry.Scope], and
	// whether entries made under ctx are to be recorded for the bridge's sake.
	// Where they are not and nobody observes their type, they are left at once.
	Scope(ctx context.Context) (scope any, record bool)

	// Start opens an interval of the given name whose children other code may
	// add under the context returned. The scope returned is that of the measure
	// recorded when the interval ends; an [Opened] is told of that. It returns ctx
	// itself and a nil scope when there is nothing to open.
	Start(ctx context.Context, name string, start time.Time) (context.Context, any)

	// Collect takes what was recorded since the last pass. An entry and its
	// attributes are valid until the next one is asked for: what is to stay must be
	// copied, the attributes with [Entry.AppendDetail]. It returns whether it wants
	// another pass soon although nothing may be recorded.
	//
	// An entry recorded before another one, on whatever goroutine, arrives in
	// the same pass or at the latest in the pass after it. Within a pass, entries
	// of one timeline are in order; those of different timelines need not be.
	Collect(pass iter.Seq[*Entry]) (again bool)
}

// An Opened is a scope that Start of a [Bridge] returned and that is told when its
// interval ends: on the goroutine that ends it, before the measure is recorded.
type Opened interface {
	Ended()
}

// A SyncBridge is a Bridge that acts on entries while they are recorded, on the
// recording goroutine. It is for tracing systems whose spans take no events
// after their end.
type SyncBridge interface {
	Bridge
	// Recorded is called after e was put into its buffer. e is the callee's.
	Recorded(e Entry)
}

// bridgeBox holds a Bridge behind an atomic pointer, with the type assertion
// for SyncBridge made once.
type bridgeBox struct {
	Bridge
	sync SyncBridge
}

// Attach replaces the bridge of the process timeline t belongs to by what swap
// returns for the present one (nil when there is none, and to remove it).
// Entries recorded earlier but not collected yet go to the new bridge.
func (t *Timeline) Attach(swap func(current Bridge) Bridge) {
	r := t.root
	r.mu.Lock()
	defer r.mu.Unlock()
	var current Bridge
	if box := r.bridge.Load(); box != nil {
		current = box.Bridge
	}
	next := swap(current)
	if next == nil {
		r.bridge.Store(nil)
		return
	}
	sync, _ := next.(SyncBridge)
	r.bridge.Store(&bridgeBox{Bridge: next, sync: sync})
}

// Post carries a message of a bridge's own through the timeline's buffers, with
// the promise that [Bridge] has for entries: Collect gets it as an entry of no type
// whose Scope is msg. Observers do not see it. It reports false, and keeps nothing, when the
// buffer is full or no bridge is attached.
func (t *Timeline) Post(msg any) bool {
	if t.root.bridge.Load() == nil {
		return false
	}
	return t.put(msg, kindMessage, "", 0, 0, t.root.now(), nil, true) == outcomeRecorded
}

// Flush runs a collection pass now: what was recorded reaches the bridge and
// the observers' buffers before it returns. Callbacks still come later. With
// the order [Bridge] promises, two calls hand over all that was recorded
// before the first.
func (t *Timeline) Flush() {
	r := t.root
	r.mu.Lock()
	defer r.unlock()
	r.collect()
}

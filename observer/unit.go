package observer

import "sync"

// An Interval is a finished span, made by a tracing system. It does not change any more.
type Interval interface {
	// Size returns the memory that the interval takes, in bytes. It need not be exact.
	Size() int
}

// A Tracer takes the finished parts of units.
type Tracer interface {
	// HandOver is called with intervals in the order in which they finished. The slice is valid during the call
	// only. Several goroutines may call it at once, each one with another part, and no lock is held. It must not
	// block, and must not panic.
	HandOver(finished []Interval)
}

// A Unit is the journal of one unit of work: an HTTP request, an RPC, a message, a job. It has the intervals that
// have finished and that the tracer has not received yet. It has nothing that is still open: a span keeps
// its own state. So a unit can be handed over in parts, at any time.
//
// The tracer receives the intervals when the unit's root ends. It receives a part of them earlier in these cases:
//
//   - The part has 512 intervals or 512 KiB.
//   - The part is 2.5 to 5 s old.
//   - Too many units, or too many bytes, wait in the process.
//   - [Units.Flush] is called.
//
// After the root's end, the tracer receives each interval at once.
//
// A Unit is garbage-collected and serves no other work, so a span that ends late cannot get into another unit's data.
// The storage of its intervals is pooled. Only the Unit points to it, and lets go of it before the tracer
// reads it. So a Unit that is kept for long keeps no storage.
//
// Its methods may be called concurrently. They do not wait for other goroutines. The goroutine that completes a part
// also hands it over.
type Unit struct {
	units *Units
	shard *unitShard

	mu      sync.Mutex // guards what follows; taken before the shard's
	journal *journal   // nil unless something waits
	ended   bool       // the root has ended

	// The shard's mutex guards these.
	place int    // in the shard's list, plus 1; 0 outside
	since uint64 // the number of sweeps when the unit came there
}

// Add appends an interval.
func (u *Unit) Add(i Interval) {
	u.mu.Lock()
	u.append(i)
}

// End appends the interval of the unit's root, and hands over everything.
func (u *Unit) End(root Interval) {
	u.mu.Lock()
	u.ended = true
	u.append(root)
}

// Close ends a unit whose root has no interval.
func (u *Unit) Close() {
	u.mu.Lock()
	u.ended = true
	u.handOver(causeEnd)
}

// append appends i. u.mu is held, and released.
func (u *Unit) append(i Interval) {
	first := u.journal == nil
	if first {
		u.journal = newJournal()
	}
	size := i.Size()
	u.journal.append(i, size)
	var why cause
	switch {
	case u.ended && first: // nothing but i, which Flush need not wait for
		j := u.takeJournal()
		u.mu.Unlock()
		j.handOver(u.units.tracer)
		return
	case u.ended:
		why = causeEnd
	case len(u.journal.finished) >= maxFinished || u.journal.size >= maxJournalSize:
		why = causeLong
	case !u.shard.wait(u, first, size):
		why = causeCrowded
	default:
		u.mu.Unlock()
		return
	}
	u.handOver(why)
}

// handOver gives the journal to the tracer. u.mu is held, and released.
func (u *Unit) handOver(why cause) {
	j := u.takeJournal()
	if j == nil {
		u.mu.Unlock()
		return
	}
	turn := u.shard.begin(u, j, why)
	u.mu.Unlock()
	defer u.shard.done(turn)
	j.handOver(u.units.tracer)
}

func (u *Unit) takeJournal() *journal {
	j := u.journal
	u.journal = nil
	return j
}

package record

import "sync/atomic"

// The budgets bound the bytes of all units. A shard holds a spare part of each budget, so that
// processors do not contend for one counter. The units share the rest. At the bound, a shard takes
// the spare parts of others: no unit is refused because its shard alone is full.
const (
	forAll       = iota // bytes of all journals
	forUndecided        // bytes of the journals of undecided units
	budgets
)

// grant is the number of bytes that a shard takes at once. A shard holds up to twice as much.
const grant = 64 << 10

// take takes n bytes of a budget. take returns false if the budget has too few.
func (us *units) take(h *unitShard, of, n int) bool {
	more := int64(n)
	if subtract(&h.spare[of], more) {
		return true
	}
	rest := &us.room[of]
	if more < grant && subtract(rest, grant) {
		h.spare[of].Add(grant - more)
		return true
	}
	if subtract(rest, more) {
		return true
	}
	for i := range us.shards.used.Load() {
		if subtract(&us.shards.parts[i].spare[of], more) {
			return true
		}
	}
	return false
}

// give returns n bytes to a budget.
func (us *units) give(h *unitShard, of, n int) {
	if h.spare[of].Add(int64(n)) > 2*grant && subtract(&h.spare[of], grant) {
		us.room[of].Add(grant)
	}
}

// subtract takes n off a counter that must not become negative. A refusal leaves the counter alone:
// other goroutines never see less room.
func subtract(from *atomic.Int64, n int64) bool {
	for {
		n0 := from.Load()
		if n0 < n {
			return false
		}
		if from.CompareAndSwap(n0, n0-n) {
			return true
		}
	}
}

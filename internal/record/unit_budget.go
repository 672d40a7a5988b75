package record

import "sync/atomic"

// The budgets bound the bytes of all units. A shard has a part of each budget at hand, so that
// processors do not meet at one number. The rest is for all. At the bound, a shard takes what other
// shards have at hand: no unit is refused because its shard alone is full.
const (
	forAll       = iota // bytes of all journals
	forUndecided        // bytes of the journals of undecided units
	budgets
)

// grant is how much a shard gets at once. It keeps up to twice as much.
const grant = 64 << 10

// take takes n bytes of a budget. It returns false if there are none left.
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

// subtract takes n off a number that must not become negative. A refusal does not take room from
// others, not even briefly.
func subtract(from *atomic.Int64, n int64) bool {
	for {
		was := from.Load()
		if was < n {
			return false
		}
		if from.CompareAndSwap(was, was-n) {
			return true
		}
	}
}

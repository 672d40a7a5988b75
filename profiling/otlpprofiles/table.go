package otlpprofiles

import (
	"hash/maphash"

	"github.com/perfline/perfline/internal/otlpwire"
)

// A table holds distinct byte strings, and numbers them from 0. The entries of other tables refer
// to these numbers, so equal entries have equal bytes: a dictionary has no duplicates, by value,
// recursively.
type table struct {
	tag     uint64 // before each entry in data, with the entry's length; 0 for entries alone
	data    []byte
	entries []extent // without tag and length
	slots   []int32  // hash table: the numbers of entries plus 1; the length is a power of two
}

// An extent is a part of a table's data.
type extent struct{ from, to int32 }

var seed = maphash.MakeSeed()

// number returns the number of an entry. It adds a new entry.
func number[E string | []byte](t *table, entry E) int32 {
	if 4*len(t.entries) >= 3*len(t.slots) {
		t.grow()
	}
	slot := t.slot(hash(entry))
	for {
		n := t.slots[slot] - 1
		if n < 0 {
			break
		}
		if string(t.entry(n)) == string(entry) {
			return n
		}
		slot = (slot + 1) & (len(t.slots) - 1)
	}
	if t.tag != 0 {
		t.data = otlpwire.AppendLength(t.data, t.tag, len(entry))
	}
	from := len(t.data)
	t.data = append(t.data, entry...)
	t.entries = append(t.entries, extent{int32(from), int32(len(t.data))}) //nolint:gosec // a request has some MiB
	t.slots[slot] = int32(len(t.entries))                                  //nolint:gosec // the same
	return t.slots[slot] - 1
}

func hash[E string | []byte](entry E) uint64 {
	switch entry := any(entry).(type) {
	case string:
		return maphash.String(seed, entry)
	case []byte:
		return maphash.Bytes(seed, entry)
	}
	return 0 // not reached
}

func (t *table) entry(n int32) []byte { return t.data[t.entries[n].from:t.entries[n].to] }

// slot returns the first slot of a hash.
func (t *table) slot(hash uint64) int { return int(hash & uint64(len(t.slots)-1)) } //nolint:gosec // below the length

func (t *table) grow() {
	t.slots = make([]int32, max(64, 2*len(t.slots)))
	for i := range t.entries {
		slot := t.slot(hash(t.entry(int32(i)))) //nolint:gosec // as many as entries
		for t.slots[slot] != 0 {
			slot = (slot + 1) & (len(t.slots) - 1)
		}
		t.slots[slot] = int32(i + 1) //nolint:gosec // the same
	}
}

// memory returns the size of the table's memory.
func (t *table) memory() int { return cap(t.data) + 8*cap(t.entries) + 4*len(t.slots) }

func (t *table) reset() {
	t.data, t.entries = t.data[:0], t.entries[:0]
	clear(t.slots)
}

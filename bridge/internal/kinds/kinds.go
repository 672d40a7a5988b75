// Package kinds caches values that all requests of a kind share. A kind is, for example, a method,
// a route and a status.
package kinds

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// MaxKinds is the number of kinds that a Map stores. Clients may make up more kinds: the Map makes
// the values of these kinds in each call.
const MaxKinds = 1024

// lists is the number of lists of a Map, a power of two. In most programs, a list stores at most
// one kind.
const lists = 128

// A Map maps a kind to a value. Get does not lock for a stored kind, and may be called
// concurrently. A Map hashes only one text and one number of a kind. A Go map hashes all fields and
// needs more than twice the time.
type Map[K comparable, V any] struct {
	makeKind func(K) (K, V)
	seed     maphash.Seed
	heads    [lists]atomic.Pointer[kind[K, V]] // by the kinds' hashes
	mu       sync.Mutex                        // guards len, and changes of heads
	len      int
}

// A kind is immutable.
type kind[K comparable, V any] struct {
	key   K
	value V
	hash  uint64
	next  *kind[K, V] // of the same list
}

// New returns a Map. makeKind returns the value of a kind, and a copy of the kind that references
// no other memory.
func New[K comparable, V any](makeKind func(K) (K, V)) *Map[K, V] {
	return &Map[K, V]{makeKind: makeKind, seed: maphash.MakeSeed()}
}

// Get returns the value of kind k. text and number are fields of k. Choose fields that differ
// between most kinds.
func (m *Map[K, V]) Get(k K, text string, number int) V {
	hash := maphash.String(m.seed, text) + uint64(number)*0x9e3779b97f4a7c15
	heads := &m.heads[hash%lists]
	if found := heads.Load().find(&k, hash); found != nil {
		return found.value
	}
	k, v := m.makeKind(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	list := heads.Load()
	if found := list.find(&k, hash); found != nil {
		return found.value
	}
	if m.len < MaxKinds {
		m.len++
		heads.Store(&kind[K, V]{k, v, hash, list})
	}
	return v
}

// find returns the kind with the key, from the list that begins with k, or nil.
func (k *kind[K, V]) find(key *K, hash uint64) *kind[K, V] {
	for ; k != nil; k = k.next {
		if k.hash == hash && k.key == *key {
			break
		}
	}
	return k
}

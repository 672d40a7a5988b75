// Package kinds keeps what is made once for all requests of a kind, such as one method, route and
// status.
package kinds

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Most is the number of kinds that a Map keeps. Further kinds, which clients may make up, are made
// anew each time.
const Most = 1024

// lists is the number of lists of a Map: a power of two. Most lists of most programs have one kind
// at most.
const lists = 128

// A Map has a value for each kind. Get takes no lock for a kind that is there. It may be called
// concurrently.
//
// It hashes one text and one number of a kind. A Go map hashes all fields, and takes more than
// twice as long.
type Map[K comparable, V any] struct {
	makeKind func(K) (K, V)
	seed     maphash.Seed
	newest   [lists]atomic.Pointer[kind[K, V]] // of the kinds whose hash has the list's number
	mu       sync.Mutex                        // held by those who add a kind; guards len
	len      int
}

// A kind does not change.
type kind[K comparable, V any] struct {
	key   K
	value V
	hash  uint64
	older *kind[K, V] // of the same list
}

// New returns a Map. Function makeKind makes the value of a kind, and a copy of the kind that pins
// no other memory.
func New[K comparable, V any](makeKind func(K) (K, V)) *Map[K, V] {
	return &Map[K, V]{makeKind: makeKind, seed: maphash.MakeSeed()}
}

// Get returns the value of kind k, which has this text and this number. Most kinds differ in one of
// them.
func (m *Map[K, V]) Get(k K, text string, number int) V {
	hash := maphash.String(m.seed, text) + uint64(number)*0x9e3779b97f4a7c15
	newest := &m.newest[hash%lists]
	if found := newest.Load().find(&k, hash); found != nil {
		return found.value
	}
	k, v := m.makeKind(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	list := newest.Load()
	if found := list.find(&k, hash); found != nil {
		return found.value
	}
	if m.len < Most {
		m.len++
		newest.Store(&kind[K, V]{k, v, hash, list})
	}
	return v
}

// find returns a kind of the list that begins with k, and nil if the list does not have it.
func (k *kind[K, V]) find(key *K, hash uint64) *kind[K, V] {
	for ; k != nil; k = k.older {
		if k.hash == hash && k.key == *key {
			break
		}
	}
	return k
}

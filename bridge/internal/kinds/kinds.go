// Package kinds keeps what is made once for all requests of a kind: of one method,
// route and status, say.
package kinds

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// Most is the number of kinds that a Map keeps. Programs have few. Further kinds, which
// clients may make up without end, are made anew each time.
const Most = 1024

// A Map has a value for each kind. It is read without a lock and copied when a kind
// is added. Get and Len may be called concurrently.
//
// It hashes one text and one number of a kind. A Go map hashes all fields, and takes more than twice as long.
type Map[K comparable, V any] struct {
	makeKind func(K) (K, V)
	seed     maphash.Seed

	known atomic.Pointer[table[K, V]] // what it points to does not change
	mu    sync.Mutex                  // held by those who add
}

// A table finds a kind at the place of its hash or behind it, before the first empty place. Half of the places are empty at
// least. Their number is a power of two.
type table[K comparable, V any] struct {
	places []*kind[K, V]
	len    int
}

type kind[K comparable, V any] struct {
	key   K
	value V
	hash  uint64
}

// New returns a Map. Function makeKind makes the value of a kind, and the kind as it may be kept: without what pins more memory
// than it shows.
func New[K comparable, V any](makeKind func(K) (K, V)) *Map[K, V] {
	m := &Map[K, V]{makeKind: makeKind, seed: maphash.MakeSeed()}
	m.known.Store(&table[K, V]{places: make([]*kind[K, V], 2)})
	return m
}

// Get is the value of kind k, which has this text and this number. Most kinds differ in one of them.
func (m *Map[K, V]) Get(k K, text string, number int) V {
	hash := maphash.String(m.seed, text) + uint64(number)*0x9e3779b97f4a7c15
	if found := m.known.Load().find(&k, hash); found != nil {
		return found.value
	}
	k, v := m.makeKind(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.known.Load()
	if found := t.find(&k, hash); found != nil {
		return found.value
	}
	if t.len < Most {
		m.known.Store(t.with(&kind[K, V]{k, v, hash}))
	}
	return v
}

// Len is how many kinds are kept.
func (m *Map[K, V]) Len() int { return m.known.Load().len }

// find returns a kind, and nil if the table does not have it.
func (t *table[K, V]) find(k *K, hash uint64) *kind[K, V] {
	last := uint64(len(t.places) - 1)
	for i := hash & last; ; i = (i + 1) & last {
		if found := t.places[i]; found == nil || found.hash == hash && found.key == *k {
			return found
		}
	}
}

// with returns a copy of the table with one more kind.
func (t *table[K, V]) with(added *kind[K, V]) *table[K, V] {
	next := &table[K, V]{places: slices.Clone(t.places), len: t.len + 1}
	if 2*next.len > len(t.places) {
		next.places = make([]*kind[K, V], 2*len(t.places))
		for _, k := range t.places {
			if k != nil {
				next.put(k)
			}
		}
	}
	next.put(added)
	return next
}

func (t *table[K, V]) put(k *kind[K, V]) {
	last := uint64(len(t.places) - 1)
	i := k.hash & last
	for t.places[i] != nil {
		i = (i + 1) & last
	}
	t.places[i] = k
}

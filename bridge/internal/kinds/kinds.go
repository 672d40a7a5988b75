// Package kinds keeps what is made once for all requests of a kind: of one method,
// route and status, say.
package kinds

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Most is the number of kinds that a Map keeps. Programs have few. Further kinds, which
// clients may make up without end, are made anew each time.
const Most = 1024

// A Map has a value for each kind. It is read without a lock and copied when a kind
// is added. Get and Len may be called concurrently.
type Map[K comparable, V any] struct {
	// New makes the value of a kind, and the kind as it may be kept: without what
	// pins more memory than it shows.
	New func(K) (K, V)

	known atomic.Pointer[map[K]V] // what it points to does not change
	mu    sync.Mutex              // held by those who add
}

// Get is the value of kind k.
func (m *Map[K, V]) Get(k K) V {
	if v, ok := m.all()[k]; ok {
		return v
	}
	k, v := m.New(k)
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := m.all(); len(all) < Most {
		next := map[K]V{k: v}
		maps.Copy(next, all)
		m.known.Store(&next)
	}
	return v
}

// Len is how many kinds are kept.
func (m *Map[K, V]) Len() int { return len(m.all()) }

func (m *Map[K, V]) all() map[K]V {
	if known := m.known.Load(); known != nil {
		return *known
	}
	return nil
}

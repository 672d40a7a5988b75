// Package onread lets readers of data bring in what has not arrived yet.
package onread

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Functions are called before data are read. The zero value has none. The methods are safe for concurrent use.
type Functions struct {
	mu  sync.Mutex               // held while the list is replaced
	all atomic.Pointer[[]*entry] // a list does not change
}

type entry struct{ call func() }

// Add adds a function. remove takes it out; further calls of remove do nothing.
func (l *Functions) Add(f func()) (remove func()) {
	e := &entry{f}
	l.replace(func(all []*entry) []*entry { return append(all, e) })
	return func() {
		l.replace(func(all []*entry) []*entry {
			return slices.DeleteFunc(all, func(other *entry) bool { return other == e })
		})
	}
}

func (l *Functions) replace(change func([]*entry) []*entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := change(slices.Clone(l.load()))
	l.all.Store(&all)
}

func (l *Functions) load() []*entry {
	if all := l.all.Load(); all != nil {
		return *all
	}
	return nil
}

// Call calls all functions, in the order in which they were added. It takes no lock.
func (l *Functions) Call() {
	for _, e := range l.load() {
		e.call()
	}
}

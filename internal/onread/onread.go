// Package onread lets readers of data bring in what has not arrived yet.
package onread

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Functions are called before data are read. The zero value has none. The methods are safe for
// concurrent use.
type Functions struct {
	mu  sync.Mutex               // held while the list is replaced
	all atomic.Pointer[[]func()] // a list does not change
}

// Add adds a function.
func (l *Functions) Add(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := append(slices.Clone(l.list()), f)
	l.all.Store(&all)
}

func (l *Functions) list() []func() {
	if all := l.all.Load(); all != nil {
		return *all
	}
	return nil
}

// Call calls all functions, in the order in which they were added. It takes no lock.
func (l *Functions) Call() {
	for _, f := range l.list() {
		f()
	}
}

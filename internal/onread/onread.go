// Package onread stores functions to call before a reader reads buffered data. The functions pass
// the buffered data to the reader.
package onread

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Functions is a list of functions to call before a read. The zero value is an empty list. Several
// goroutines may call the methods at the same time.
type Functions struct {
	mu  sync.Mutex               // guards the replacement of the list
	all atomic.Pointer[[]func()] // a stored list never changes
}

// Add appends f to the list.
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

// Call calls all functions in the order of the list. Call holds no lock during these calls.
func (l *Functions) Call() {
	for _, f := range l.list() {
		f()
	}
}

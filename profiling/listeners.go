package profiling

import (
	"sync"

	"github.com/perfline/perfline/observer/record"
)

// OnSampleBufferFull has f called when the profiler has stopped because it has as many samples as
// [Options].MaxBufferSize (samplebufferfull), or at once if it has stopped for that reason already. Each f is called once,
// on a goroutine of its own, and may call Stop.
//
// Remove keeps f from being called, and reports whether it did: false says that f has been called, or was removed
// before.
func (p *Profiler) OnSampleBufferFull(f func()) (remove func() bool) { return p.listeners.add(f) }

// listeners are the functions that want to know that a buffer is full.
type listeners struct {
	report *record.Timeline // reports panics

	mu    sync.Mutex // guards what follows
	all   map[*func()]bool
	fired bool
}

func (l *listeners) add(f func()) (remove func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fired {
		go l.call(f)
		return func() bool { return false }
	}
	if l.all == nil {
		l.all = map[*func()]bool{}
	}
	l.all[&f] = true
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		known := l.all[&f]
		delete(l.all, &f)
		return known
	}
}

// fire calls them.
func (l *listeners) fire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fired = true
	for f := range l.all {
		go l.call(*f)
	}
	l.all = nil
}

func (l *listeners) call(f func()) { l.report.Try("OnSampleBufferFull of a profiler", f) }

package profiling

import (
	"sync"

	"github.com/perfline/perfline/internal/record"
)

// OnSampleBufferFull registers f. The profiler calls f once, on a goroutine of its own, when the
// profiler has stopped because it has as many samples as [Options].MaxBufferSize
// (samplebufferfull), or at once if that has happened already. f may call Stop. There may be
// several functions. Remove unregisters f, and does nothing after the call.
func (p *Profiler) OnSampleBufferFull(f func()) (remove func()) { return p.listeners.add(f) }

// listeners are the functions that want to know that a buffer is full.
type listeners struct {
	report *record.Timeline // reports panics

	mu    sync.Mutex // guards what follows
	all   map[*func()]struct{}
	fired bool
}

func (l *listeners) add(f func()) (remove func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fired {
		go l.call(f)
		return func() {}
	}
	if l.all == nil {
		l.all = map[*func()]struct{}{}
	}
	l.all[&f] = struct{}{}
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.all, &f)
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

package profiling

import (
	"sync"

	"github.com/perfline/perfline/internal/record"
)

// OnSampleBufferFull registers f for the event samplebufferfull (JS Self-Profiling). The profiler
// stops when the buffer contains [Options].MaxBufferSize samples. Then the profiler calls f once.
// If the buffer is already full, the profiler calls f immediately. The profiler calls f on a new
// goroutine. f may call Stop. Several functions may be registered. The returned function remove
// unregisters f. Further calls of remove do nothing.
func (p *Profiler) OnSampleBufferFull(f func()) (remove func()) { return p.listeners.add(f) }

// listeners are the functions to call when a profiler's buffer is full.
type listeners struct {
	report *record.Timeline // reports panics

	mu    sync.Mutex // guards the fields below
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

// fire calls the functions, each on a new goroutine.
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

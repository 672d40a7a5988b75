package service

import (
	"context"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/perfline/perfline"
)

// An Account is what the service uses and what became of what it recorded.
type Account struct {
	// bytes that the runtime has of the system, without what it has given back
	Memory         uint64
	MemoryPeak     uint64 // since the last account
	LiveHeap       uint64 // bytes that the last garbage collection found in use
	Goroutines     int
	Connections    int    // of clients, each of which has a goroutine
	GoroutinesPeak int    // since the last account
	Begun          uint64 // requests that reached the handler
	Answered       uint64 // of them, those that it returned from
	Stats          perfline.Stats
}

// A Final is the account that the service leaves when it ends.
type Final struct {
	Account
	Drain    time.Duration // from the signal until the last request was answered
	Shutdown time.Duration // what the pipeline's Shutdown took after that
	Err      string        // of both; Shutdown's error has what was lost
}

// SpansRecorded is the number of spans of the requests that were answered: each has a server
// span and its measures.
func (a Account) SpansRecorded() uint64 { return a.Answered * SpansOfRequest }

const lookEvery = 20 * time.Millisecond

// A watch looks at the memory and the goroutines of this process.
type watch struct {
	mu      sync.Mutex // guards what follows
	samples []metrics.Sample
	peak    Account // its peaks only
}

func newWatch() *watch {
	names := []string{
		"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/gc/heap/live:bytes",
		"/sched/goroutines:goroutines",
	}
	w := &watch{}
	for _, name := range names {
		w.samples = append(w.samples, metrics.Sample{Name: name})
	}
	return w
}

// run looks until ctx is over.
func (w *watch) run(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.mu.Lock()
			w.look()
			w.mu.Unlock()
		}
	}
}

// look returns what is used now. w.mu is held.
func (w *watch) look() Account {
	metrics.Read(w.samples)
	a := Account{
		Memory:     w.samples[0].Value.Uint64() - w.samples[1].Value.Uint64(),
		LiveHeap:   w.samples[2].Value.Uint64(),
		Goroutines: int(w.samples[3].Value.Uint64()),
	}
	w.peak.MemoryPeak = max(w.peak.MemoryPeak, a.Memory)
	w.peak.GoroutinesPeak = max(w.peak.GoroutinesPeak, a.Goroutines)
	return a
}

// account returns what is used now and the peaks since it was called last.
func (w *watch) account() Account {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.look()
	a.MemoryPeak, a.GoroutinesPeak = w.peak.MemoryPeak, w.peak.GoroutinesPeak
	w.peak = Account{}
	return a
}

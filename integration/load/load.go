// Package load calls a function at a steady rate and keeps what became of the calls:
//
//	l := load.Requests(ctx, url, 200) // GET, 200 a second
//	…
//	recent := l.Take() // since the last Take
//	l.Stop()
//	err := l.Total().Err()
//
// A load is open. The time of each call is fixed beforehand, and does not depend on the calls
// before it. A latency counts from that time: a call that had to wait for others has the wait in
// its latency.
package load

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// defaultUnderWay is how many calls may be under way at a time.
const defaultUnderWay = 1024

// A Config says what is called, and how often.
type Config struct {
	// PerSecond is the rate of the calls.
	PerSecond float64

	// Do is called, in a goroutine of its own each time. Its error makes the call a failed one.
	Do func() error

	// UnderWay bounds the calls under way. Calls that are due then wait, and their latency
	// grows by it. 0 means 1024.
	UnderWay int
}

// A Load makes calls at a steady rate. Its methods may be called concurrently.
type Load struct {
	config   Config
	interval time.Duration
	began    time.Time
	end      context.CancelFunc
	slots    chan struct{} // one for each call under way
	ended    chan struct{} // closed when the last call has returned
	cleanUp  func()        // after that

	mu     sync.Mutex // guards what follows
	total  Results    // since the load began, without latencies
	recent Results    // since Take
}

// Start makes calls until Stop, or until ctx is over. The caller calls Stop or Wait.
func Start(ctx context.Context, c Config) *Load { return start(ctx, c, func() {}) }

func start(ctx context.Context, c Config, cleanUp func()) *Load {
	if c.UnderWay == 0 {
		c.UnderWay = defaultUnderWay
	}
	ctx, cancel := context.WithCancel(ctx)
	l := &Load{
		config: c, interval: time.Duration(float64(time.Second) / c.PerSecond), began: time.Now(),
		end:   cancel,
		slots: make(chan struct{}, c.UnderWay), ended: make(chan struct{}), cleanUp: cleanUp,
	}
	l.recent.Errors, l.total.Errors = map[string]int{}, map[string]int{}
	go l.run(ctx)
	return l
}

// run makes calls until ctx is over, and waits for those under way.
func (l *Load) run(ctx context.Context) {
	defer close(l.ended)
	var calls sync.WaitGroup
	defer calls.Wait()
	deadline, limited := ctx.Deadline()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := 0; ; i++ {
		due := l.began.Add(time.Duration(i) * l.interval)
		if limited && !due.Before(deadline) {
			return
		}
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		if !l.begin(ctx) {
			over := time.Now()
			if limited && deadline.Before(over) {
				over = deadline
			}
			l.unsent(max(0, int((over.Sub(due)+l.interval-1)/l.interval)))
			return
		}
		calls.Go(func() {
			err := l.config.Do()
			l.settle(time.Since(due), err)
			<-l.slots
		})
	}
}

// begin waits until one more call may be under way. It reports false if ctx is over.
func (l *Load) begin(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case l.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *Load) unsent(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.recent.Unsent += n
	l.total.Unsent += n
}

func (l *Load) settle(latency time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		for _, r := range []*Results{&l.recent, &l.total} {
			r.Failed++
			r.Errors[reason(err)]++
		}
		return
	}
	l.total.Answered++
	l.recent.Answered++
	l.recent.Latencies = append(l.recent.Latencies, latency)
}

// Total returns what became of all calls since the load began, without their latencies.
func (l *Load) Total() Results {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.total
	r.Errors = maps.Clone(r.Errors)
	return r
}

// Take returns what became of the calls that have returned since Take was called last.
func (l *Load) Take() Results {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.recent
	l.recent = Results{Errors: map[string]int{}}
	slices.Sort(r.Latencies)
	return r
}

// Stop ends the load, waits for the calls under way, and returns the results as Take does.
// More calls return what Take does.
func (l *Load) Stop() Results {
	l.end()
	return l.Wait()
}

// Wait is Stop when the context of Start is over.
func (l *Load) Wait() Results {
	<-l.ended
	l.end()
	l.cleanUp()
	return l.Take()
}

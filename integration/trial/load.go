package trial

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// maxUnderWay bounds a load's requests under way. Those that are due then wait, and
// their latency grows by it.
const maxUnderWay = 1024

// A Load sends requests to one URL at a steady rate. Its methods may be called
// concurrently.
type Load struct {
	target   string
	interval time.Duration
	client   *http.Client
	began    time.Time
	end      context.CancelFunc
	slots    chan struct{} // one for each request under way
	ended    chan struct{} // closed when the last request is answered

	mu    sync.Mutex // guards what follows
	total Results    // since the load began, without latencies
	taken Results    // since Take
}

// Results are what became of requests.
type Results struct {
	Answered  int             // with status 200 and the whole body
	Failed    int             // all others
	Errors    map[string]int  // of those that failed
	Latencies []time.Duration // of those answered, since they were due; sorted
}

// P is the least latency that at least the share q of the requests did not exceed, of
// rank ⌈q·n⌉: P(0.5) is the median, P(1) the maximum. 0 if none was answered.
func (r Results) P(q float64) time.Duration {
	if len(r.Latencies) == 0 {
		return 0
	}
	// 0.07 of 100 is a little over 7 in binary fractions, and not the eighth.
	rank := int(math.Ceil(q*float64(len(r.Latencies)) - 1e-6))
	return r.Latencies[max(rank, 1)-1]
}

// Err is an error if requests have failed: how many, and why.
func (r Results) Err() error {
	var all []error
	for _, text := range slices.Sorted(maps.Keys(r.Errors)) {
		all = append(all, fmt.Errorf("%d requests failed: %s", r.Errors[text], text))
	}
	return errors.Join(all...)
}

// StartLoad sends GET requests, so many a second, until Stop.
func StartLoad(target string, rate int) *Load { return startLoad(target, rate, maxUnderWay) }

func startLoad(target string, rate, underWay int) *Load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Load{
		target: target, interval: time.Second / time.Duration(rate), began: time.Now(), end: cancel, ended: make(chan struct{}),
		client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: underWay}},
		slots:  make(chan struct{}, underWay),
	}
	l.taken.Errors, l.total.Errors = map[string]int{}, map[string]int{}
	go l.run(ctx)
	return l
}

// run sends requests until ctx is over, and waits for those under way.
func (l *Load) run(ctx context.Context) {
	defer close(l.ended)
	var requests sync.WaitGroup
	defer requests.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := 0; ; i++ {
		due := dueAt(l.began, l.interval, i)
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		select {
		case l.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		requests.Go(func() {
			err := l.request()
			l.settle(time.Since(due), err)
			<-l.slots
		})
	}
}

// dueAt is when the request number i is to be sent, from 0.
func dueAt(began time.Time, interval time.Duration, i int) time.Time {
	return began.Add(time.Duration(i) * interval)
}

func (l *Load) request() error {
	// Without the context of run: what is under way when the load is stopped is waited for.
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, l.target, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the service answers %s", resp.Status)
	}
	return nil
}

func (l *Load) settle(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		for _, r := range []*Results{&l.taken, &l.total} {
			r.Failed++
			r.Errors[reason(err)]++
		}
		return
	}
	l.total.Answered++
	l.taken.Answered++
	l.taken.Latencies = append(l.taken.Latencies, took)
}

// Total returns what became of all requests since the load began, whoever took their
// results, without their latencies.
func (l *Load) Total() Results {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.total
	r.Errors = maps.Clone(r.Errors)
	return r
}

// Take returns what became of the requests that were answered or failed since it
// was called last.
func (l *Load) Take() Results {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.taken
	l.taken = Results{Errors: map[string]int{}}
	slices.Sort(r.Latencies)
	return r
}

// reason is an error without what differs between requests: addresses and ports.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op + ": " + op.Err.Error()
	}
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err.Error()
	}
	return err.Error()
}

// Stop ends the load, waits for the requests under way, and returns the results as
// Take does.
func (l *Load) Stop() Results {
	l.end()
	<-l.ended
	l.client.CloseIdleConnections()
	return l.Take()
}

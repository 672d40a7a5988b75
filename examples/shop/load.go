package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"
)

// maxInFlight bounds the load's requests under way: a slow service gets fewer
// requests, not more goroutines.
const maxInFlight = 256

// A load sends requests at a steady rate and keeps their times by route.
type load struct {
	base     string
	interval time.Duration
	client   *http.Client
	started  time.Time

	mu      sync.Mutex // guards what follows
	routes  map[string]*routeStats
	sent    int
	failed  int
	skipped int // not sent because too many were under way
}

type routeStats struct {
	times  histogram
	errors int
}

func newLoad(base string, rps int) *load {
	return &load{
		base:     base,
		interval: time.Second / time.Duration(rps),
		client: &http.Client{Timeout: 10 * time.Second,
			Transport: &http.Transport{MaxIdleConnsPerHost: maxInFlight}},
		routes: map[string]*routeStats{},
	}
}

// run sends requests for the given time, 0 being no limit, or until ctx ends, and
// waits for those under way.
func (l *load) run(ctx context.Context, duration time.Duration) {
	l.started = time.Now()
	deadline := l.started.Add(duration)
	progress := newProgress(os.Stderr, duration)
	slots := make(chan struct{}, maxInFlight)
	var wg sync.WaitGroup
	defer l.client.CloseIdleConnections()
	defer progress.done(l)
	defer wg.Wait()

	tick := time.NewTicker(max(l.interval, time.Millisecond))
	defer tick.Stop()
	for planned := 0; ; {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if duration > 0 && now.After(deadline) {
				return
			}
			for ; time.Duration(planned)*l.interval < now.Sub(l.started); planned++ {
				select {
				case slots <- struct{}{}:
				default:
					l.count(func() { l.skipped++ })
					continue
				}
				wg.Go(func() {
					l.request(context.WithoutCancel(ctx)) // those under way are waited for
					<-slots
				})
			}
			progress.show(l, now.Sub(l.started))
		}
	}
}

func (l *load) request(ctx context.Context) {
	route, method, path, body := "GET /products/{id}", http.MethodGet,
		fmt.Sprintf("/products/%d", 1+rand.IntN(200)), ""
	switch n := rand.IntN(10); {
	case n < 1:
		route, path = "GET /search", fmt.Sprintf("/search?q=number+%d", 1+rand.IntN(200))
	case n < 2:
		route, path = "GET /", fmt.Sprintf("/?page=%d", rand.IntN(10))
	case n < 5:
		route, method, path = "POST /orders", http.MethodPost, "/orders"
		body = fmt.Sprintf(`{"product":%d,"quantity":%d}`, 1+rand.IntN(200), 1+rand.IntN(3))
	}
	start := time.Now()
	err := l.do(ctx, method, path, body)
	took := time.Since(start)
	l.count(func() {
		s := l.routes[route]
		if s == nil {
			s = &routeStats{}
			l.routes[route] = s
		}
		s.times.add(took)
		l.sent++
		if err != nil {
			s.errors++
			l.failed++
		}
	})
}

func (l *load) do(ctx context.Context, method, path, body string) error {
	req, err := http.NewRequestWithContext(ctx, method, l.base+path, bytes.NewBufferString(body))
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
	if resp.StatusCode >= 400 {
		return fmt.Errorf("status %s", resp.Status)
	}
	return nil
}

func (l *load) count(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// progress is one line: rewritten in a terminal, printed each second elsewhere, or
// each minute of a load without an end.
type progress struct {
	out      *os.File
	terminal bool
	total    time.Duration // 0 if it has no end
	next     time.Duration
}

func newProgress(out *os.File, total time.Duration) *progress {
	info, err := out.Stat()
	return &progress{out: out, total: total, terminal: err == nil &&
		info.Mode()&os.ModeCharDevice != 0}
}

func (p *progress) show(l *load, elapsed time.Duration) {
	if elapsed < p.next {
		return
	}
	every, begin, end := time.Second, "", "\n"
	switch {
	case p.terminal:
		every, begin, end = 200*time.Millisecond, "\r", ""
	case p.total == 0:
		every = time.Minute
	}
	p.next = elapsed.Truncate(every) + every
	var sent, failed int
	l.count(func() { sent, failed = l.sent, l.failed })
	far := elapsed.Round(time.Second).String()
	if p.total > 0 {
		far = fmt.Sprintf("%3.0f %%  %5.1fs of %v", 100*min(1, elapsed.Seconds()/p.total.Seconds()),
			elapsed.Seconds(), p.total)
	}
	fmt.Fprintf(p.out, "%sload: %s  %d requests  %d failed%s", begin, far, sent, failed, end)
}

func (p *progress) done(l *load) {
	p.next = 0
	p.show(l, time.Since(l.started))
	if p.terminal {
		fmt.Fprintln(p.out)
	}
}

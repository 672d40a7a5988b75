package pyroscope

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/grafana/pyroscope-go/upstream"
)

// The pauses between attempts.
const (
	minPause      = 500 * time.Millisecond
	maxPause      = 30 * time.Second
	maxRetryAfter = 5 * time.Minute // what a server may ask for
	lastTries     = 3               // in a row that may fail while shutting down
	profileTries  = 5               // of a profile before it lets the others go first
)

// An upload is a profile that waits for delivery.
type upload struct {
	kind string
	job  upstream.UploadJob
	seq  uint64 // by age

	// The delivery's goroutine's.
	tries  int
	before uint64 // profiles sent before it was tried
}

func (u *upload) size() int { return len(u.job.Profile) }

// A delivery is a queue of profiles and the goroutine that sends them, oldest first but for
// those that it tried often, which must not hold up the others for ever.
// Everything may be called concurrently.
type delivery struct {
	send   func(context.Context, *upload) result
	report *report
	limit  int // bytes

	life context.Context //nolint:containedctx // that of what is under way, which Shutdown ends
	kill context.CancelFunc
	done chan struct{} // closed when the goroutine has ended

	kick chan struct{} // gets a value when a pause is to end

	mu       sync.Mutex // guards what follows
	queue    []*upload  // without what is under way
	underWay *upload
	closing  bool
	changed  chan struct{} // closed when anything here changed that others wait for
	stats    Stats         // of the delivery only
	lastErr  error
	sends    uint64 // attempts
	failing  uint64 // attempts in a row that are to be made again
}

func newDelivery(limit int, r *report, send func(context.Context, *upload) result) *delivery {
	d := &delivery{send: send, report: r, limit: limit, done: make(chan struct{}), kick: make(chan struct{}, 1), changed: make(chan struct{})}
	d.life, d.kill = context.WithCancel(context.Background())
	return d
}

// add queues a profile, and drops the oldest where there is no room for it.
func (d *delivery) add(u *upload) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Accepted++
	u.seq = d.stats.Accepted
	free := d.limit - d.stats.PendingBytes
	for _, old := range d.queue {
		free += old.size() // if all were dropped
	}
	if u.size() > free {
		if u.size() > d.limit {
			d.report.tooLarge(u)
		}
		d.overflow()
		d.tell()
		return
	}
	for d.stats.PendingBytes+u.size() > d.limit {
		i := oldest(d.queue)
		d.overflow()
		d.stats.Pending--
		d.stats.PendingBytes -= d.queue[i].size()
		d.queue = slices.Delete(d.queue, i, i+1)
	}
	d.queue = append(d.queue, u)
	d.stats.Pending++
	d.stats.PendingBytes += u.size()
	d.tell()
}

// oldest is the index of the oldest of some profiles; those that failed may be behind
// younger ones.
func oldest(queue []*upload) int {
	at := 0
	for i, u := range queue {
		if u.seq < queue[at].seq {
			at = i
		}
	}
	return at
}

// overflow counts a profile that there is no room for. d.mu is held.
func (d *delivery) overflow() {
	d.stats.Overflow++
	if d.lastErr == nil {
		d.lastErr = fmt.Errorf("no room in the queue of %d bytes", d.limit)
	}
}

// tell wakes those who wait for a change. d.mu is held.
func (d *delivery) tell() {
	close(d.changed)
	d.changed = make(chan struct{})
}

// run sends what is queued until it is closed and there is nothing left to send.
func (d *delivery) run() {
	failures, last := 0, 0 // in a row, and those of them since it is closing
	for {
		u, closing := d.next()
		if u == nil {
			return
		}
		u.tries++
		r := d.send(d.life, u)
		// When the server says so, or fails while it takes others, it is the profile's fault. That
		// a connection fails is not.
		if r.outcome == retryable && u.tries >= profileTries && (r.profile || r.suspect && d.counts().Sent > u.before) {
			r.outcome, r.profile = refused, true
		}
		d.settle(u, r)
		if r.outcome == sent || r.outcome == refused && r.profile {
			failures, last = 0, 0
			continue
		}
		if closing {
			last++
			failures = last - 1
			r.after = min(r.after, maxPause)
		}
		if d.life.Err() != nil || last >= lastTries {
			return
		}
		if r.outcome != retryable {
			continue // the next one may fare better, and is not sent twice
		}
		pause := min(minPause<<min(failures, 10), maxPause)
		failures++
		if d.pause(max(pause/2+rand.N(pause/2+1), r.after)) {
			failures = 0
		}
	}
}

// next waits for the oldest profile and takes it out of the queue; nil when there will be
// none.
func (d *delivery) next() (u *upload, closing bool) {
	for {
		d.mu.Lock()
		if len(d.queue) > 0 && d.life.Err() == nil {
			u := d.queue[0]
			d.queue[0] = nil
			d.queue = d.queue[1:]
			d.underWay = u
			if u.tries == 0 {
				u.before = d.stats.Sent
			} else {
				d.stats.Retries++
			}
			select {
			case <-d.kick: // this is what was wanted
			default:
			}
			closing := d.closing
			d.mu.Unlock()
			return u, closing
		}
		changed, closing := d.changed, d.closing
		d.mu.Unlock()
		if closing || d.life.Err() != nil {
			return nil, closing
		}
		select {
		case <-changed:
		case <-d.life.Done():
		}
	}
}

// settle counts what became of the profile under way. One to be sent again is the next,
// unless it was tried often.
func (d *delivery) settle(u *upload, r result) {
	d.mu.Lock()
	d.underWay = nil
	d.sends++
	d.failing++
	if r.outcome != retryable {
		d.failing = 0
	}
	switch r.outcome {
	case sent:
		d.stats.Sent++
	case refused:
		d.stats.Refused++
	case unanswered:
		d.stats.Unanswered++
	case retryable, cancelled:
		if u.tries < profileTries {
			d.queue = append([]*upload{u}, d.queue...)
		} else {
			d.queue = append(d.queue, u)
		}
	}
	if r.outcome != retryable && r.outcome != cancelled {
		d.stats.Pending--
		d.stats.PendingBytes -= u.size()
	}
	if r.err != nil {
		d.lastErr = r.err
	}
	lost := d.stats.gone()
	d.tell()
	d.mu.Unlock()
	d.report.note(u.kind, r, lost)
}

// pause waits for the time between two attempts, or until somebody wants it to end, of
// which it reports whether.
func (d *delivery) pause(wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-d.kick:
		return true
	case <-d.life.Done():
		return true
	}
}

// now ends a pause: somebody waits.
func (d *delivery) now() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// flush returns when all that is queued has been delivered or lost, when the server fails
// at it, or when ctx is over. The error tells of what was lost since it was so many.
func (d *delivery) flush(ctx context.Context, lost uint64) error {
	d.mu.Lock()
	until, sends := d.stats.Accepted, d.sends
	d.mu.Unlock()
	d.now()
	for {
		d.mu.Lock()
		if n := min(d.sends-sends, d.failing); n >= lastTries && !d.closing { // closing gives up itself
			defer d.mu.Unlock()
			return fmt.Errorf("pyroscope: %d profiles wait for %s, which did not take one in %d attempts: %w", d.stats.Pending, d.report.to, n, d.lastErr)
		}
		waiting := d.underWay != nil && d.underWay.seq <= until || len(d.queue) > 0 && d.queue[oldest(d.queue)].seq <= until
		changed, now, err := d.changed, d.stats.gone(), d.lastErr
		d.mu.Unlock()
		if !waiting {
			if now > lost {
				return fmt.Errorf("pyroscope: %d profiles not delivered to %s: %w", now-lost, d.report.to, err)
			}
			return nil
		}
		select {
		case <-changed:
		case <-d.done:
			return fmt.Errorf("pyroscope: flushing to %s: it was shut down", d.report.to)
		case <-ctx.Done():
			return fmt.Errorf("pyroscope: flushing to %s: %w", d.report.to, context.Cause(ctx))
		}
	}
}

// close delivers what is queued until ctx is over or the server does not take it, and
// returns when the goroutine has ended. The error tells what was lost, ever.
func (d *delivery) close(ctx context.Context) error {
	defer d.kill()
	d.mu.Lock()
	d.closing = true
	d.tell()
	d.mu.Unlock()
	d.now()
	var over error
	select {
	case <-d.done:
	case <-ctx.Done():
		over = fmt.Errorf("the context of Shutdown: %w", context.Cause(ctx))
		d.kill()
		select {
		case <-d.done:
		case <-time.After(afterDeadline):
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stats.Lost() == 0 {
		return nil
	}
	return fmt.Errorf("pyroscope: %d of %d profiles did not reach %s: %s: %w",
		d.stats.Lost(), d.stats.Accepted, d.report.to, d.stats.causes(), cmp.Or(over, d.lastErr))
}

func (d *delivery) counts() Stats {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stats
}

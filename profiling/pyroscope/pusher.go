package pyroscope

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/spanlabels"
)

// lastTries is how many attempts in a row may fail before Flush and Shutdown give up.
const lastTries = 3

// A Pusher profiles the program and delivers what it finds. Its methods may be called
// concurrently.
type Pusher struct {
	cpu       cpuProfile
	snapshots []snapshot
	series    string
	interval  time.Duration
	now       func() time.Time
	log       *slog.Logger
	client    *client
	queue     *queue.Queue[*upload]
	to        string // the server, without secrets

	last  time.Time       // when profiles were taken last; the loop's
	said  map[string]bool // kinds that could not be taken, and were logged; the loop's
	flush chan chan struct{}
	stop  chan struct{} // closed by Shutdown
	done  chan struct{} // closed when the loop has ended

	shutdown sync.Once
	err      error // of Shutdown

	mu    sync.Mutex // guards stats
	stats Stats      // of what is taken
}

// Start profiles from now on, and pushes a profile of each kind every
// [Config].UploadInterval until Shutdown. It does not end with ctx. A server that is not there is no error.
//
// Errors name the field or the variable, the value and the rule; they wrap
// [profiling.ErrNotAllowed] if PERFLINE_PROFILING forbids profiling. Wrong variables that
// do no harm are logged.
func Start(ctx context.Context, c Config) (*Pusher, error) {
	return start(c, process{now: time.Now, snapshots: snapshots, session: func(full func()) (session, error) {
		// A timeline in ctx may have a clock of its own; profiles are of real time.
		return profiling.Start(observer.NewContext(context.WithoutCancel(ctx), observer.Default()), profiling.Options{
			SampleInterval:     sampleInterval,
			MaxBufferSize:      bufferSize,
			OnSampleBufferFull: func(*profiling.Profiler) { full() },
			Scope:              cmp.Or(c.Scope, spanlabels.LocalRoots),
		})
	}})
}

// A process is what is profiled, which a test can play.
type process struct {
	now       func() time.Time
	session   func(full func()) (session, error)
	snapshots func(fitter) []snapshot
}

func start(c Config, of process) (*Pusher, error) {
	tags, err := c.resolve()
	if err != nil {
		return nil, err
	}
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	fit := newFitter(len(tags), c.TraceIDs)
	p := &Pusher{
		cpu:      cpuProfile{start: of.session, full: make(chan struct{}, 1), fit: fit},
		series:   seriesName(c.ApplicationName, hex.EncodeToString(id), tags),
		interval: c.UploadInterval, now: of.now, log: c.Logger,
		client: newClient(c, of.now), to: secret.URL(c.ServerAddress),
		last: of.now(), said: map[string]bool{}, flush: make(chan chan struct{}),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := p.cpu.begin(); err != nil {
		p.client.close()
		return nil, err
	}
	p.snapshots = of.snapshots(fit)
	for i := range p.snapshots {
		// What was before is not of the first profile's time. That one cannot be taken is
		// told when it is due.
		_, _ = p.snapshots[i].uploads(of.now(), of.now())
	}
	ready := make(chan struct{})
	go func() {
		unlabel() // the queue's goroutine, too
		p.queue = queue.New(queue.Config[*upload]{
			What: "profiles", To: p.to, MaxBytes: c.QueueSize, BatchCount: 1, DropOldest: true, GiveUp: lastTries,
			Send: p.client.send, Logger: c.Logger,
		})
		close(ready)
		p.run()
	}()
	<-ready
	return p, nil
}

// unlabel has the profiler count the calling goroutine's time for nobody, instead of for
// whoever started it.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }

// run takes profiles.
func (p *Pusher) run() {
	defer close(p.done)
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.take(false)
		case <-p.cpu.full:
			p.takeCPU(false)
		case taken := <-p.flush:
			p.take(false)
			close(taken)
		case <-p.stop:
			p.take(true)
			return
		}
	}
}

// take takes a profile of each kind and queues it.
func (p *Pusher) take(last bool) {
	p.takeCPU(last)
	end := p.now()
	begin := end.Add(-max(end.Sub(p.last), 0))
	p.last = end
	for i := range p.snapshots {
		s := &p.snapshots[i]
		uploads, err := s.uploads(begin, end)
		if err != nil {
			p.fail(s.kind, err)
		}
		for _, u := range uploads {
			p.add(u)
		}
	}
}

func (p *Pusher) takeCPU(last bool) {
	parts, restarted, err := p.cpu.cut(last)
	end := p.now()
	if restarted {
		p.mu.Lock()
		p.stats.Restarts++
		p.mu.Unlock()
		p.once("restart", "perfline: the CPU session for the server ended and was started again; so will be others, which are counted", err)
	} else if err != nil {
		p.fail("cpu", err)
	}
	for _, t := range parts {
		// The last part ends now, one before it so much earlier.
		end := end.Add(t.Stopped - parts[len(parts)-1].Stopped)
		p.mu.Lock()
		p.stats.LostSamples += t.Stats.Lost
		p.stats.Gaps += t.Stats.Gaps
		p.stats.GapTime += t.Stats.GapTime
		p.stats.BusyGaps += t.Stats.BusyGaps
		p.stats.BusyTime += t.Stats.BusyTime
		p.mu.Unlock()
		uploads, err := p.cpu.uploads(t, end)
		if err != nil {
			p.fail("cpu", err)
		}
		for _, u := range uploads {
			p.add(u)
		}
	}
}

func (p *Pusher) add(u *upload) {
	u.job.Name = p.series
	p.queue.Add(u)
}

// fail counts a profile that could not be taken.
func (p *Pusher) fail(kind string, err error) {
	p.mu.Lock()
	p.stats.Failed++
	p.mu.Unlock()
	p.once(kind, fmt.Sprintf("perfline: no %s profile could be taken; more of them may fail, which are counted", kind), err)
}

// once logs what need not be said twice.
func (p *Pusher) once(what, message string, err error) {
	if p.said[what] {
		return
	}
	p.said[what] = true
	if err == nil {
		p.log.Warn(message)
		return
	}
	p.log.Warn(message, "error", err)
}

// Flush takes profiles now, and returns when all that wait are delivered or lost. The error
// says how many were lost and why. Profiles go on waiting when three attempts in a row failed,
// or when ctx ended, which are errors, too. After Shutdown it does nothing.
func (p *Pusher) Flush(ctx context.Context) error {
	taken, before := make(chan struct{}), p.queue.Stats()
	select {
	case p.flush <- taken:
	case <-p.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("pyroscope: flushing to %s: %w", p.to, context.Cause(ctx))
	}
	select {
	case <-taken:
	case <-ctx.Done():
		return fmt.Errorf("pyroscope: flushing to %s: %w", p.to, context.Cause(ctx))
	}
	if err := p.queue.Flush(ctx); err != nil {
		return fmt.Errorf("pyroscope: %w", err)
	}
	// Profiles may have been lost before the queue's Flush began.
	after := p.queue.Stats()
	if n := after.Failed + after.Dropped - before.Failed - before.Dropped; n > 0 {
		return fmt.Errorf("pyroscope: %d profiles not delivered to %s: %w", n, p.to, p.queue.Reason())
	}
	return nil
}

// Shutdown takes the last profiles and delivers what waits. It gives up when ctx is over,
// whatever is under way being cancelled, or when the server did not take profiles three
// times in a row. If any profile since Start did not arrive, the error says how many, and
// why. Further calls return the same; Stats are final then.
func (p *Pusher) Shutdown(ctx context.Context) error {
	p.shutdown.Do(func() {
		close(p.stop)
		select {
		case <-p.done:
		case <-ctx.Done():
			p.err = fmt.Errorf("pyroscope: the last profiles were not taken before Shutdown's context was over: %w", context.Cause(ctx))
		}
		err := p.queue.Shutdown(ctx)
		p.client.close()
		s := p.Stats()
		if s.Lost() == 0 {
			return
		}
		p.err = errors.Join(p.err, fmt.Errorf("pyroscope: %d of %d profiles did not reach %s: %s: %w",
			s.Lost(), s.Accepted, p.to, s.causes(), cmp.Or(errors.Unwrap(err), p.queue.Reason())))
	})
	return p.err
}

// Stats returns the counts.
func (p *Pusher) Stats() Stats {
	q := p.queue.Stats()
	s := Stats{
		Accepted: q.Accepted, Sent: q.Delivered, Refused: q.Failed - q.Unanswered, Unanswered: q.Unanswered, Overflow: q.Dropped,
		Pending: q.Pending, PendingBytes: q.PendingBytes, Retries: q.Retries,
	}
	s.State = p.cpu.state()
	s.Engine, s.Fallback = p.cpu.engine()
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Failed, s.Restarts = p.stats.Failed, p.stats.Restarts
	s.LostSamples, s.Gaps, s.GapTime = p.stats.LostSamples, p.stats.Gaps, p.stats.GapTime
	s.BusyGaps, s.BusyTime = p.stats.BusyGaps, p.stats.BusyTime
	return s
}

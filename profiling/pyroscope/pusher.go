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

// leakShare bounds the share of time in which the runtime looks for leaked goroutines: one in so many.
const leakShare = 1000

// lastTries is the number of attempts in a row after whose failure Flush and Shutdown give up.
const lastTries = 3

// A Pusher profiles the program and delivers the profiles to a server. Its methods may be called concurrently.
type Pusher struct {
	cpu       cpuProfile
	snapshots []snapshot
	leaks     *snapshot         // nil without a profile of leaked goroutines
	labels    map[string]string // of all series
	interval  time.Duration
	leakEvery time.Duration
	now       func() time.Time
	log       *slog.Logger
	client    *client
	queue     *queue.Queue[*upload]
	to        string // the server, without secrets

	releaseIDs func() // ends the attribute pyroscope.profile.id of spans

	logged map[string]bool // events that have their one log line; the loop's
	flush  chan chan struct{}
	stop   chan struct{} // closed by Shutdown
	done   chan struct{} // closed when the loop has ended

	shutdown sync.Once
	err      error // of Shutdown

	mu    sync.Mutex // guards stats
	stats Stats      // of what is taken
}

// Start profiles from now on, and pushes a profile of each kind every [Config].UploadInterval until Shutdown, and one of
// leaked goroutines every [Config].LeakInterval. It does not end with ctx. Start succeeds when the server is away.
//
// Errors name the field or the variable, the value and the rule. They wrap [profiling.ErrNotAllowed] if
// PERFLINE_PROFILING forbids profiling. Start logs wrong variables that do no harm.
func Start(ctx context.Context, c Config) (*Pusher, error) {
	return start(c, process{now: time.Now, snapshots: snapshots, leaks: leaks, profiler: func(full func()) (profiler, error) {
		// A timeline in ctx may have a clock of its own; profiles are of real time.
		return profiling.Start(observer.NewContext(context.WithoutCancel(ctx), observer.ProcessTimeline()), profiling.Options{
			SampleInterval:     sampleInterval,
			MaxBufferSize:      bufferSize,
			OnSampleBufferFull: func(*profiling.Profiler) { full() },
			Spans:              c.Spans,
		})
	}})
}

// A process is the source of profiles. Tests have one of their own.
type process struct {
	now       func() time.Time
	profiler  func(full func()) (profiler, error)
	snapshots func(fitter) []snapshot
	leaks     func(fitter) *snapshot // returns nil if there are none
}

func start(c Config, of process) (*Pusher, error) {
	tags, err := c.resolve()
	if err != nil {
		return nil, err
	}
	instance := make([]byte, 8) // the server asks for 16 hexadecimal digits
	_, _ = rand.Read(instance)  // never fails
	fit := newFitter(len(tags), c.TraceIDs)
	p := &Pusher{
		cpu:      cpuProfile{start: of.profiler, full: make(chan struct{}, 1), fit: fit},
		labels:   seriesLabels(c.ApplicationName, hex.EncodeToString(instance), tags),
		interval: c.UploadInterval, leakEvery: c.LeakInterval, now: of.now, log: c.Logger,
		client: newClient(c, of.now), to: secret.URL(c.ServerAddress),
		logged: map[string]bool{}, flush: make(chan chan struct{}),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	if err := p.cpu.begin(); err != nil {
		p.client.close()
		return nil, err
	}
	p.releaseIDs = spanlabels.HoldProfileIDs(c.Spans)
	p.snapshots = of.snapshots(fit)
	if c.LeakInterval > 0 {
		p.leaks = of.leaks(fit)
	}
	for i := range p.snapshots {
		// The first profile must not have what was before Start. An error will come again when the profile is due.
		_, _ = p.snapshots[i].encode()
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

// unlabel takes away the labels that the calling goroutine has from the one that started it. The time of the pusher
// must not count as a request's.
func unlabel() { pprof.SetGoroutineLabels(context.Background()) }

// run takes profiles.
func (p *Pusher) run() {
	defer close(p.done)
	tick := time.NewTicker(p.interval)
	defer tick.Stop()
	var leaksDue <-chan time.Time // never, without the profile
	if p.leaks != nil {
		leaksDue = time.After(p.leakEvery)
	}
	for {
		select {
		case <-tick.C:
			p.take(false)
		case <-leaksDue:
			began := time.Now()
			p.takeSnapshot(p.leaks)
			leaksDue = time.After(max(p.leakEvery, leakShare*time.Since(began)))
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

// take takes a profile of each kind, except of leaked goroutines, and queues it.
func (p *Pusher) take(last bool) {
	p.takeCPU(last)
	for i := range p.snapshots {
		p.takeSnapshot(&p.snapshots[i])
	}
}

func (p *Pusher) takeSnapshot(s *snapshot) {
	profiles, err := s.encode()
	p.add(s.kind, profiles, err)
}

func (p *Pusher) takeCPU(last bool) {
	parts, restarted, err := p.cpu.cut(last)
	end := p.now()
	if restarted {
		p.mu.Lock()
		p.stats.Restarts++
		p.mu.Unlock()
		p.once("restart", "perfline: CPU profiling ended and was restarted; further restarts are counted in Stats.Restarts but not logged", err)
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
		profiles, err := p.cpu.encode(t, end)
		p.add("cpu", profiles, err)
	}
}

// add queues the profiles of a kind. There may be some although encoding ended with an error.
func (p *Pusher) add(kind string, profiles [][]byte, err error) {
	if err != nil {
		p.fail(kind, err)
	}
	for _, data := range profiles {
		p.queue.Add(newUpload(kind, p.labels, data))
	}
}

// fail counts a profile that could not be taken.
func (p *Pusher) fail(kind string, err error) {
	p.mu.Lock()
	p.stats.Failed++
	p.mu.Unlock()
	p.once(kind, fmt.Sprintf("perfline: taking a %s profile failed; further failures are counted in Stats.Failed but not logged", kind), err)
}

// once logs the first event of its name.
func (p *Pusher) once(event, message string, err error) {
	if p.logged[event] {
		return
	}
	p.logged[event] = true
	if err == nil {
		p.log.Warn(message)
		return
	}
	p.log.Warn(message, "error", err)
}

// Flush takes profiles now, except of leaked goroutines, and returns when all waiting profiles are delivered or lost. The error says how many were
// lost and why. It is also an error when three attempts in a row fail, or when ctx ends: then profiles still wait. After
// Shutdown, Flush does nothing.
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

// Shutdown takes the last profiles, except of leaked goroutines, and delivers those that wait. It gives up when ctx ends, and cancels the request under
// way, or when three attempts in a row fail. If any profile since Start did not arrive, the error says how many, and why.
// Further calls return the same. Stats are final then.
func (p *Pusher) Shutdown(ctx context.Context) error {
	p.shutdown.Do(func() {
		p.releaseIDs()
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
		Accepted: q.Accepted, Delivered: q.Delivered, Refused: q.Failed - q.Unanswered, Unanswered: q.Unanswered, Dropped: q.Dropped,
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

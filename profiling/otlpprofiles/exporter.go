package otlpprofiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlp"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/internal/continuous"
	"github.com/perfline/perfline/profiling/profile"
)

// lastTries is the number of attempts in a row after whose failure Flush and Shutdown give up.
const lastTries = 3

// An Exporter profiles the program and sends the profiles to a receiver. Its methods may be called concurrently.
type Exporter struct {
	c Config

	mu sync.Mutex // guards r
	r  *run       // nil before Start
}

// A run is what Start started.
type run struct {
	source *continuous.Source
	queue  *queue.Queue[*request]
	to     string       // the receiver, without secrets
	close  func() error // closes the sender

	shutdown within.Once
}

// New returns an exporter that does nothing before its Start, for the field ProfileExporter of perfline.Config.
func New(c Config) *Exporter { return &Exporter{c: c} }

// String returns the exporter's Config without secrets.
func (e *Exporter) String() string { return "otlpprofiles" + e.c.String() }

// Format prints String for every verb.
func (e *Exporter) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// Start profiles from now on, and sends a profile of each kind every [Config].Interval until Shutdown. It does not end with ctx.
// Start succeeds when the receiver is away. The profiles describe the service by res. log is the logger unless [Config].Logger is set;
// nil means slog.Default().
//
// Errors name the field or the variable, the value and the rule. They wrap [profiling.ErrNotAllowed] if PERFLINE_PROFILING forbids
// profiling. Start logs wrong variables that do no harm. A second Start is an error.
func (e *Exporter) Start(ctx context.Context, res *resource.Resource, log *slog.Logger) error {
	return e.start(ctx, res, log, continuous.ThisProcess(ctx, e.c.Spans))
}

func (e *Exporter) start(ctx context.Context, res *resource.Resource, log *slog.Logger, of continuous.Process) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.r != nil {
		return errors.New("otlpprofiles: the exporter has been started already")
	}
	c := e.c
	c.Logger = record.SafeLogger(cmp.Or(c.Logger, log))
	vars := environ.FromContext(ctx, c.Logger)
	if err := c.resolve(vars); err != nil {
		return fmt.Errorf("otlpprofiles: %w", err)
	}
	r := &run{}
	err := errors.New("Config.Sender ended the goroutine that asked for its name")
	continuous.Unlabelled(func() { err = r.deliver(c, vars) })
	if err != nil {
		return fmt.Errorf("otlpprofiles: %w", err)
	}
	r.source, err = continuous.Start(continuous.Config{
		Interval: c.Interval, LeakInterval: c.LeakInterval, Process: of, Counts: "ContinuousStats", Logger: c.Logger,
		Sink: &sink{encoder: newEncoder(res, thisProgram()), queue: r.queue},
	})
	if err != nil {
		return errors.Join(err, r.queue.Shutdown(ctx), r.close()) // the queue is empty
	}
	e.r = r
	return nil
}

// deliver starts the queue, and the goroutines of a connection over gRPC.
func (r *run) deliver(c Config, vars *environ.Reader) error {
	sender, to, err := c.sender(vars)
	if err != nil {
		return err
	}
	r.to, r.close = to, sender.Close
	r.queue = queue.New(queue.Config[*request]{
		What: "profiles", To: to, MaxBytes: c.QueueBytes, BatchCount: 1, DropOldest: true, GiveUp: lastTries,
		UnknownPause: otlp.UnknownPause, Logger: c.Logger,
		Send: func(ctx context.Context, batch []*request) queue.Answer { return sender.Send(ctx, batch[0].body) },
	})
	return nil
}

// started returns what Start started, or nil.
func (e *Exporter) started() *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.r
}

// Flush takes profiles now, except of leaked goroutines, and returns when all waiting profiles are delivered or lost. The error says
// how many were lost and why. It is also an error when three attempts in a row fail, or when ctx ends: then profiles still wait.
// Before Start and after Shutdown, Flush does nothing.
func (e *Exporter) Flush(ctx context.Context) error {
	r := e.started()
	if r == nil {
		return nil
	}
	if err := continuous.Flush(ctx, r.source, r.queue, r.to); err != nil {
		return fmt.Errorf("otlpprofiles: %w", err)
	}
	return nil
}

// Shutdown takes the last profiles, except of leaked goroutines, delivers those that wait, and closes the connections. It gives up when
// ctx ends, and cancels the request under way, or when three attempts in a row fail. If any profile since Start did not arrive, the error
// says how many, and why. Further calls return the same, or an error when their own context ends before. Stats are final then. Before Start, Shutdown
// does nothing.
func (e *Exporter) Shutdown(ctx context.Context) error {
	r := e.started()
	if r == nil {
		return nil
	}
	return r.shutdown.Do(ctx, 2*within.Grace, "otlpprofiles: the shutdown", r.stop)
}

func (r *run) stop(ctx context.Context) (err error) {
	if e := r.source.Stop(ctx); e != nil {
		err = fmt.Errorf("otlpprofiles: the last profiles were not taken before Shutdown's context was over: %w", e)
	}
	e := r.queue.Shutdown(ctx)
	if s := exporter.Stats(r.queue.Stats()); s.Lost() > 0 {
		err = errors.Join(err, fmt.Errorf("otlpprofiles: %d of %d profiles did not reach %s: %w",
			s.Lost(), s.Accepted, r.to, cmp.Or(errors.Unwrap(e), r.queue.Reason())))
	}
	closing := within.Begin(ctx, within.Grace)
	closing.Do("closing the connections to "+r.to, func(context.Context) error { return r.close() })
	if e := closing.End(); e != nil {
		err = errors.Join(err, fmt.Errorf("otlpprofiles: %w", e))
	}
	return err
}

// Stats returns what became of the profiles that were taken. A profile has one sample type: a heap profile counts as up to four. They
// are zero before Start.
func (e *Exporter) Stats() exporter.Stats {
	r := e.started()
	if r == nil {
		return exporter.Stats{}
	}
	return exporter.Stats(r.queue.Stats())
}

// LastMinute returns the CPU samples of the last minute, as far as they have been taken: samples are taken each Interval. The first
// call returns an empty trace. From then on samples stay in memory, at most 2^18, until no call came for five minutes. It returns nil
// before Start.
func (e *Exporter) LastMinute() *profile.Trace {
	r := e.started()
	if r == nil {
		return nil
	}
	return r.source.LastMinute()
}

// Profiling returns how the profiles were taken. It is zero before Start.
func (e *Exporter) Profiling() profiling.ContinuousStats {
	r := e.started()
	if r == nil {
		return profiling.ContinuousStats{}
	}
	return r.source.Stats()
}

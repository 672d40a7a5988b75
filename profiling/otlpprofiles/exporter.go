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

// A profileExporter is the [profiling.Exporter] of this package.
type profileExporter struct {
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

// New returns an exporter that does nothing before its Start, for the field ProfileExporter of
// perfline.Config. Start checks c.
//
//   - Start sends a profile of each kind every [Config].Interval. [Config].Logger wins over the
//     logger that Start gets. Errors name the field or the variable, the value and the rule. Start
//     logs wrong variables that do no harm.
//   - Flush and Shutdown take no profile of leaked goroutines. They give up when three attempts in
//     a row fail. When Shutdown's context ends, Shutdown cancels the request under way. Shutdown
//     closes the connections. Further calls of Shutdown return the same error, or an error when
//     their own context ends before.
//   - A profile has one sample type: a heap profile counts as up to four in Stats.
//   - LastMinute has the samples of finished intervals. The first call returns an empty trace. From
//     then on samples stay in memory, at most 2^18, until no call came for five minutes.
func New(c Config) profiling.Exporter { return newExporter(c) }

func newExporter(c Config) *profileExporter { return &profileExporter{c: c} }

var _ profiling.Exporter = (*profileExporter)(nil)

// String returns the exporter's Config without secrets.
func (e *profileExporter) String() string { return "otlpprofiles" + e.c.String() }

// Format prints String for every verb.
func (e *profileExporter) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

func (e *profileExporter) Start(ctx context.Context, res *resource.Resource,
	log *slog.Logger) error {
	return e.start(ctx, res, log, continuous.ThisProcess(ctx, e.c.Spans))
}

func (e *profileExporter) start(ctx context.Context, res *resource.Resource, log *slog.Logger,
	of continuous.Process) error {
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
		Interval: c.Interval, LeakInterval: c.LeakInterval, Process: of, Counts: "ContinuousStats",
		Logger: c.Logger,
		Sink:   &sink{encoder: newEncoder(res, thisProgram()), queue: r.queue},
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
		What: "profiles", To: to, MaxBytes: c.QueueBytes, BatchCount: 1, DropOldest: true,
		GiveUp:       lastTries,
		UnknownPause: otlp.UnknownPause, Logger: c.Logger,
		Send: func(ctx context.Context,
			batch []*request) queue.Answer {
			return sender.Send(ctx, batch[0].body)
		},
	})
	return nil
}

// started returns what Start started, or nil.
func (e *profileExporter) started() *run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.r
}

func (e *profileExporter) Flush(ctx context.Context) error {
	r := e.started()
	if r == nil {
		return nil
	}
	if err := continuous.Flush(ctx, r.source, r.queue, r.to); err != nil {
		return fmt.Errorf("otlpprofiles: %w", err)
	}
	return nil
}

func (e *profileExporter) Shutdown(ctx context.Context) error {
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
	if s := continuous.Stats(r.source, r.queue); s.Lost() > 0 {
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

func (e *profileExporter) Stats() profiling.ExporterStats {
	r := e.started()
	if r == nil {
		return profiling.ExporterStats{}
	}
	return continuous.Stats(r.source, r.queue)
}

func (e *profileExporter) LastMinute() *profile.Trace {
	r := e.started()
	if r == nil {
		return nil
	}
	return r.source.LastMinute()
}

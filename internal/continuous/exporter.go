package continuous

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/sdk/resource"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// A Receiver describes a destination of profiles.
type Receiver struct {
	Package string       // name of the package, the prefix of errors: "pyroscope"
	Config  any          // configuration of the package; the printed form omits secrets
	Logger  *slog.Logger // replaces Environment.Logger, unless nil
	Address string       // "" without an address in a field or a variable

	// Open checks the configuration, and creates the encoder and the delivery. All fields of the
	// Environment are set, except for Process.
	Open func(Environment) (*Delivery, error)
}

// An Environment contains the settings that the caller of [StartExporters] passes to all exporters.
// The zero value is ready to use.
type Environment struct {
	Resource *resource.Resource // of the service
	Logger   *slog.Logger       // nil means slog.Default()
	Vars     *environ.Reader    // nil means a reader for each exporter; each logs wrong variables

	// Process returns the source of the profiles. nil means [ThisProcess]. Tests set a fake.
	Process func(context.Context, profiling.Selection) Process
}

// A Delivery encodes the profiles of a source and delivers the profiles to one receiver.
type Delivery struct {
	Settings
	Sink
	Queue interface { // Sink adds the items
		Stats() queue.Stats
		Reason() error
		Flush(context.Context) error
		Shutdown(context.Context) error
	}
	To         string       // the receiver, without secrets
	Close      func() error // closes the connections, after the shutdown of Queue
	ProfileIDs bool         // selected spans carry the attribute pyroscope.profile.id

	name string // of the package
}

// giveUp is the number of failed attempts in a row after which Flush and Shutdown give up.
const giveUp = 3

// NewQueue returns a queue that sends each item in a separate request. A full queue drops the
// oldest items. The caller must set the fields To and Send of the parameter q.
func NewQueue[T queue.Item](s Settings, q queue.Config[T]) *queue.Queue[T] {
	q.What, q.MaxBytes, q.Logger = "profiles", s.QueueBytes, s.Logger
	q.BatchCount, q.DropOldest, q.GiveUp = 1, true, giveUp
	return queue.New(q)
}

// An Exporter sends profiles to one receiver, and implements [profiling.Exporter]. Exporter.Start
// creates a source for one exporter. [StartExporters] creates one source for several exporters.
type Exporter struct {
	receiver Receiver

	mu       sync.Mutex // guards the fields below, which are nil before the start
	run      *Run
	delivery *Delivery
}

var _ profiling.Exporter = (*Exporter)(nil)

// NewExporter returns an exporter for r. The caller starts the exporter.
func NewExporter(r Receiver) *Exporter { return &Exporter{receiver: r} }

// Addressed reports whether a field or an environment variable contains the address of the
// receiver.
func (e *Exporter) Addressed() bool { return e.receiver.Address != "" }

// String returns the configuration without secrets.
func (e *Exporter) String() string { return e.receiver.Package + fmt.Sprint(e.receiver.Config) }

// Format writes the result of String for every verb.
func (e *Exporter) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// Start starts the exporter with a new source. No other exporter shares the source.
func (e *Exporter) Start(ctx context.Context, res *resource.Resource, log *slog.Logger) error {
	_, err := StartExporters(ctx, Environment{Resource: res, Logger: log}, e)
	return err
}

// Flush calls [Run.Flush]. Run.Flush also flushes the other exporters that share the source.
func (e *Exporter) Flush(ctx context.Context) error { return e.started().Flush(ctx) }

// Shutdown calls [Run.Shutdown]. Run.Shutdown also shuts down the other exporters that share the
// source.
func (e *Exporter) Shutdown(ctx context.Context) error { return e.started().Shutdown(ctx) }

// Stats returns the counts of the delivery and of the source. Before Start, the counts are zero.
func (e *Exporter) Stats() profiling.ExporterStats {
	r := e.started()
	if r == nil {
		return profiling.ExporterStats{}
	}
	s := e.delivery.stats() // nothing changes e.delivery after the start
	s.ContinuousStats = r.source.Stats()
	return s
}

// LastMinute returns the result of [Source.LastMinute]. Before Start, LastMinute returns nil.
func (e *Exporter) LastMinute() *profile.Trace { return e.started().LastMinute() }

// started returns the Run of the start, or nil.
func (e *Exporter) started() *Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run
}

// open opens the delivery on a goroutine without labels. e.mu is held.
func (e *Exporter) open(env Environment) (d *Delivery, err error) {
	if e.run != nil {
		return nil, fmt.Errorf("%s: the exporter has been started already", e.receiver.Package)
	}
	env.Logger = record.SafeLogger(cmp.Or(e.receiver.Logger, env.Logger))
	env.Vars = cmp.Or(env.Vars, environ.NewReader(env.Logger))
	err = errors.New("code of the program ended the goroutine that called the code")
	Unlabelled(func() { d, err = e.receiver.Open(env) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.receiver.Package, err)
	}
	d.name = e.receiver.Package
	return d, nil
}

// stats returns the counts of the delivery alone.
func (d *Delivery) stats() profiling.ExporterStats {
	s := d.Queue.Stats()
	return profiling.ExporterStats{
		Accepted: s.Accepted, Delivered: s.Delivered,
		Refused: s.Failed - s.Unanswered, Unanswered: s.Unanswered, Dropped: s.Dropped,
		Pending: s.Pending, PendingBytes: s.PendingBytes, Retries: s.Retries,
	}
}

// flush waits until all profiles are delivered or lost. taken is the error of the source. before
// are the counts from before the last profiles were taken, some of which may already be lost.
func (d *Delivery) flush(ctx context.Context, taken error, before queue.Stats) error {
	if taken != nil {
		return fmt.Errorf("%s: flushing to %s: %w", d.name, d.To, taken)
	}
	if err := d.Queue.Flush(ctx); err != nil {
		return fmt.Errorf("%s: %w", d.name, err)
	}
	after := d.Queue.Stats()
	if n := after.Failed + after.Dropped - before.Failed - before.Dropped; n > 0 {
		return fmt.Errorf("%s: %d profiles not delivered to %s: %w", d.name, n, d.To,
			d.Queue.Reason())
	}
	return nil
}

// shutdown delivers the pending profiles, and closes the connections. taken is the error of the
// source.
func (d *Delivery) shutdown(ctx context.Context, taken error) (err error) {
	if taken != nil {
		err = fmt.Errorf("%s: the last profiles were not taken before Shutdown's context was over: %w",
			d.name, taken)
	}
	failed := d.Queue.Shutdown(ctx)
	if s := d.stats(); s.Lost() > 0 {
		err = errors.Join(err, fmt.Errorf("%s: %d of %d profiles did not reach %s: %s: %w", d.name,
			s.Lost(), s.Accepted, d.To, causes(s), cmp.Or(errors.Unwrap(failed), d.Queue.Reason())))
	}
	closing := within.Begin(ctx, within.Grace)
	closing.Do("closing the connections to "+d.To, func(context.Context) error { return d.Close() })
	if e := closing.End(); e != nil {
		err = errors.Join(err, fmt.Errorf("%s: %w", d.name, e))
	}
	return err
}

// causes returns the causes of lost profiles, with their counts.
func causes(s profiling.ExporterStats) string {
	var causes []string
	for _, c := range []struct {
		n    uint64
		what string
	}{
		{s.Refused, "refused"}, {s.Unanswered, "not answered"},
		{s.Dropped, "dropped"}, {s.Pending, "given up"},
	} {
		if c.n > 0 {
			causes = append(causes, fmt.Sprintf("%d %s", c.n, c.what))
		}
	}
	return strings.Join(causes, ", ")
}

package continuous

import (
	"context"
	"errors"
	"sync"

	"github.com/perfline/perfline/internal/queue"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// A Run contains a source and the deliveries of the profiles. The methods may be called
// concurrently. The methods of a nil Run do nothing.
type Run struct {
	source     *Source
	deliveries []*Delivery
	releaseIDs func() // ends the attribute pyroscope.profile.id of spans; may be nil

	shutdown within.Once
}

// StartExporters starts exporters that share one source. The source uses the shortest Interval, the
// shortest LeakInterval and the largest selection of Spans. If PERFLINE_PROFILING forbids
// profiling, the error wraps [profiling.ErrNotAllowed]. After an error, no exporter runs.
func StartExporters(ctx context.Context, env Environment, exporters ...*Exporter) (*Run, error) {
	r := &Run{}
	fail := func(err error) (*Run, error) {
		return nil, errors.Join(err,
			r.each(func(_ int, d *Delivery) error { return d.shutdown(ctx, nil) }))
	}
	for _, e := range exporters {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	var s Settings
	var sinks []Sink
	profileIDs := false
	for _, e := range exporters {
		d, err := e.open(env)
		if err != nil {
			return fail(err)
		}
		r.deliveries, sinks = append(r.deliveries, d), append(sinks, d)
		s = s.with(d.Settings)
		profileIDs = profileIDs || d.ProfileIDs
	}
	process := env.Process
	if process == nil {
		process = ThisProcess
	}
	var err error
	r.source, err = Start(Config{
		Interval: s.Interval, LeakInterval: s.LeakInterval, Logger: s.Logger, Sinks: sinks,
		Process: process(ctx, s.Spans),
	})
	if err != nil {
		return fail(err)
	}
	if profileIDs {
		r.releaseIDs = profiling.HoldProfileIDs(s.Spans)
	}
	for i, e := range exporters {
		e.run, e.delivery = r, r.deliveries[i]
	}
	return r, nil
}

// each calls f for all deliveries concurrently, and joins the errors in the order of the
// deliveries.
func (r *Run) each(f func(i int, d *Delivery) error) error {
	errs := make([]error, len(r.deliveries))
	var all sync.WaitGroup
	for i, d := range r.deliveries {
		all.Go(func() { errs[i] = f(i, d) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Flush records all profiles now, except for leaked goroutines. Flush returns when all deliveries
// have delivered or lost the pending profiles. [profiling.Exporter] documents the errors. After
// Shutdown, Flush returns nil.
func (r *Run) Flush(ctx context.Context) error {
	if r == nil {
		return nil
	}
	before := make([]queue.Stats, len(r.deliveries))
	for i, d := range r.deliveries {
		before[i] = d.Queue.Stats()
	}
	taken := r.source.Take(ctx)
	if errors.Is(taken, ErrStopped) {
		return nil
	}
	return r.each(func(i int, d *Delivery) error { return d.flush(ctx, taken, before[i]) })
}

// Shutdown stops the source, and then shuts down all deliveries. [profiling.Exporter] documents the
// rules and the errors.
func (r *Run) Shutdown(ctx context.Context) error {
	if r == nil {
		return nil
	}
	return r.shutdown.Do(ctx, 2*within.Grace, "profiling: the shutdown", r.stop)
}

func (r *Run) stop(ctx context.Context) error {
	if r.releaseIDs != nil {
		r.releaseIDs()
	}
	taken := r.source.Stop(ctx)
	return r.each(func(_ int, d *Delivery) error { return d.shutdown(ctx, taken) })
}

// LastMinute returns the result of [Source.LastMinute].
func (r *Run) LastMinute() *profile.Trace {
	if r == nil {
		return nil
	}
	return r.source.LastMinute()
}

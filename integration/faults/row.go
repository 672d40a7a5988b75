package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perfline/perfline/integration/trial"
)

// A row is one trial, by its name.
type row struct {
	name string
	run  func(context.Context, settings) *result
}

// rows are all that there are.
func rows() []row {
	var all []row
	for _, subject := range []string{"jaeger", "collector", "pyroscope"} {
		for _, f := range faults {
			all = append(all, faultRow(subject, f))
		}
	}
	for _, subject := range []string{"jaeger by http", "pyroscope"} {
		all = append(all, faultRow(subject, lying))
	}
	for _, e := range ends {
		all = append(all, row{e.name, func(ctx context.Context, set settings) *result { return terminated(ctx, set, e) }})
	}
	return all
}

func faultRow(subject string, f fault) row {
	name := subject + "/" + f.name
	return row{name, func(ctx context.Context, set settings) *result {
		return underFault(ctx, set, name, subjects[subject], f)
	}}
}

const (
	lookEvery = 200 * time.Millisecond
	// recoverWithin is how long a row waits until the service has recovered. An attempt ends after ten seconds,
	// and the next one begins within three.
	recoverWithin = 3 * time.Minute
	// moreGoroutines is what may be more after a fault, besides connections: a request
	// under way has a second one, and so has a delivery.
	moreGoroutines = 4
	// moreHeap is what the live heap may be larger by after a fault: profiles and the most
	// recent requests grow while the service is young. Spans that a full queue still held
	// would be more.
	moreHeap = 8 << 20
)

// A result is a row of the table.
type result struct {
	name             string
	notMade          error
	healthy, faulty  phase
	requests         trial.Results // in all phases
	goroutinesAfter  int
	heap, heapAfter  uint64
	book             trial.Book
	found            int
	recovered        time.Duration
	recoveredMeans   string // of what the time is, if not of that
	looks            int
	notes            []string
	wrong            []error
	unbalancedBefore bool
}

func (r *result) fail(err error) {
	if err != nil {
		r.wrong = append(r.wrong, err)
	}
}

func (r *result) note(text string) {
	if text != "" {
		r.notes = append(r.notes, text)
	}
}

func (r *result) verdict() string {
	switch {
	case len(r.wrong) > 0:
		return fmt.Sprintf("NOT WELL: %v", errors.Join(r.wrong...))
	case r.notMade != nil:
		return r.notMade.Error()
	}
	return "ok"
}

// A phase is what was seen in a part of the time.
type phase struct {
	requests       trial.Results
	memory         uint64 // peak
	goroutines     int    // peak
	goroutinesIdle int    // the least, without those of connections
	last           trial.Account
}

// A trialled is the service of a row while it is looked at.
type trialled struct {
	*result
	service *trial.Service
	load    *trial.Load
	subject *subject
}

// watch looks at the service until done says so or ctx is over. Unequal sums are told once.
func (t *trialled) watch(ctx context.Context, done func(trial.Account) bool) (phase, error) {
	var p phase
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		a, err := t.service.Account(context.WithoutCancel(ctx))
		if err != nil {
			return p, err
		}
		t.looks++
		if err := a.Balanced(); err != nil && !t.unbalancedBefore {
			t.unbalancedBefore = true
			t.fail(fmt.Errorf("at look %d: %w", t.looks, err))
		}
		p.last = a
		p.memory, p.goroutines = max(p.memory, a.MemoryPeak), max(p.goroutines, a.GoroutinesPeak)
		if idle := a.Goroutines - a.Connections; p.goroutinesIdle == 0 || idle < p.goroutinesIdle {
			p.goroutinesIdle = idle
		}
		if done(a) {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return p, nil
		}
	}
	return p, nil
}

// watchFor looks for so long, and takes the load's results.
func (t *trialled) watchFor(ctx context.Context, d time.Duration) (phase, error) {
	until := time.Now().Add(d)
	p, err := t.watch(ctx, func(trial.Account) bool { return !time.Now().Before(until) })
	p.requests = t.load.Take()
	return p, errors.Join(err, ctx.Err())
}

func underFault(ctx context.Context, set settings, name string, begin start, f fault) *result {
	r := &result{name: name}
	ctx, cancel := context.WithTimeout(ctx, set.total()+3*recoverWithin)
	defer cancel()
	s, err := begin(ctx, name)
	if err != nil {
		r.fail(err)
		return r
	}
	defer func() { r.fail(s.stop()) }()
	err = r.try(ctx, set, s, f)
	if errors.Is(err, errNotMade) {
		r.notMade = err
	} else if err != nil {
		r.fail(fmt.Errorf("%w; the backend's log ends with: %s", err, tail(s.process.Log())))
	}
	return r
}

func (r *result) try(ctx context.Context, set settings, s *subject, f fault) error {
	if f.before != nil {
		if err := f.before(ctx, s); err != nil {
			return err
		}
	}
	service, err := trial.StartService(ctx, trial.ServiceConfig{Env: append([]string{"OTEL_SERVICE_NAME=" + r.name}, s.env...)})
	if err != nil {
		return err
	}
	defer service.Kill() //nolint:errcheck // it has ended, or something failed that is told
	t := &trialled{result: r, service: service, load: trial.StartLoad(service.URL(), set.rate), subject: s}
	defer t.endLoad()
	if err := t.healthyPhase(ctx, set, f.name == "absent"); err != nil {
		return err
	}
	if err := t.faultPhase(ctx, set, f); err != nil {
		return err
	}
	if err := t.recover(ctx, set, f); err != nil {
		return err
	}
	return t.settle(ctx, f)
}

// endLoad ends the load and holds every request that failed in any phase against the row.
// A second call does nothing.
func (t *trialled) endLoad() {
	if t.load == nil {
		return
	}
	t.load.Stop()
	t.requests = t.load.Total()
	t.fail(t.requests.Err())
	t.load = nil
}

// healthyPhase is when all is well; its second half is measured.
func (t *trialled) healthyPhase(ctx context.Context, set settings, absent bool) error {
	if _, err := t.watchFor(ctx, set.well()/2); err != nil {
		return err
	}
	if !absent { // a connection has goroutines, too
		within, cancel := context.WithTimeout(ctx, recoverWithin)
		defer cancel()
		p, err := t.watch(within, func(a trial.Account) bool { return t.subject.book(a.Stats).Delivered > 0 })
		if err != nil || within.Err() != nil {
			return fmt.Errorf("nothing was delivered before the fault: %w; counts are %+v", errors.Join(err, within.Err()), p.last.Stats)
		}
	}
	t.load.Take()
	var err error
	if t.healthy, err = t.watchFor(ctx, set.well()/2); err != nil {
		return err
	}
	a, err := t.service.Collected(ctx)
	t.heap = a.LiveHeap
	return err
}

func (t *trialled) faultPhase(ctx context.Context, set settings, f fault) error {
	during, cancel := context.WithTimeout(ctx, set.length)
	defer cancel()
	type outcome struct {
		note string
		err  error
	}
	over := make(chan outcome, 1)
	go func() {
		note, err := f.during(during, t.subject)
		over <- outcome{note, err}
	}()
	var o outcome
	ended := false
	p, err := t.watch(ctx, func(trial.Account) bool {
		select {
		case o = <-over:
			ended = true
		default:
		}
		return ended
	})
	if !ended { // whoever stops the backend must be the only one at it
		cancel()
		o = <-over
	}
	p.requests = t.load.Take()
	t.faulty = p
	if o.note != "" {
		then, now := t.subject.book(t.healthy.last.Stats), t.subject.book(p.last.Stats)
		t.note(fmt.Sprintf("%s; %d of %d were taken in that time", o.note, now.Delivered-then.Delivered, now.Accepted-then.Accepted))
	}
	if f.name == "absent" { // it has been from the start: there is no healthy part
		t.faulty, t.healthy = t.healthy, phase{}
		t.faulty.memory, t.faulty.goroutines = max(t.faulty.memory, p.memory), max(t.faulty.goroutines, p.goroutines)
		t.faulty.requests = p.requests
	}
	return errors.Join(err, o.err, ctx.Err())
}

// recover makes all well, and waits until what was accepted until then is delivered or
// lost, and something that was accepted since is delivered.
func (t *trialled) recover(ctx context.Context, set settings, f fault) error {
	note, err := f.after(ctx, t.subject)
	if err != nil {
		return err
	}
	t.note(note)
	began := time.Now()
	a, err := t.service.Account(ctx)
	if err != nil {
		return err
	}
	then := t.subject.book(a.Stats)
	within, cancel := context.WithTimeout(ctx, recoverWithin)
	defer cancel()
	p, err := t.watch(within, func(a trial.Account) bool {
		now := t.subject.book(a.Stats)
		return now.Delivered > then.Delivered && now.Settled() >= then.Accepted && now.Accepted > then.Accepted
	})
	if err != nil || within.Err() != nil {
		return fmt.Errorf("not recovered after %v: %w; counts are %+v", time.Since(began).Round(time.Second), errors.Join(err, within.Err()), p.last.Stats)
	}
	t.recovered = time.Since(began)
	_, err = t.watchFor(ctx, max(2*time.Second, set.well()-t.recovered))
	return err
}

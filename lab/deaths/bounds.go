package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/perfline/perfline/internal/blackbox"
)

// A bound is a limit of the black box that a process reaches before SIGKILL ends it. The process
// leaves more than fits. The reported items and the counted items must be the truth together.
type bound struct {
	name, what string
	down       bool // the backend takes nothing before the death
	// run makes the load until the process is at the bound.
	run func(context.Context, *service) (stop func(), err error)
	// books returns what must balance.
	books func(t *truth, r *reported, a *arrivals) []book
}

// A book says how many items the truth has, from least to most, how many arrived at the backend or
// are in the report, and how many are counted as left out.
type book struct {
	what              string
	least, most       int // in the truth
	reported, leftOut int
}

func (b book) balances() bool {
	sum := b.reported + b.leftOut
	return b.least <= sum && sum <= b.most
}

// bounds are the limits.
var bounds = []bound{
	{
		name: "marks", what: "requests with 10 000 marks",
		run: func(ctx context.Context, v *service) (func(), error) {
			const perSecond, ms, enough = 10, 1500, 5
			stop := v.load(ctx, perSecond, func() string { return fmt.Sprintf("/marks/%d", ms) })
			return stop, v.finishes(ctx, enough)
		},
		books: entriesOfOpen,
	},
	{
		name: "large", what: "spans of 500 KB, and the backend is down", down: true,
		run: func(ctx context.Context, v *service) (func(), error) {
			const perSecond, enough = 20, 40
			return v.load(ctx, perSecond, shortOrLong("large")), v.finishes(ctx, enough)
		},
		books: finishedSpans(2),
	},
	{
		name: "spool", what: "the spool is full, because the backend is down", down: true,
		run: func(ctx context.Context, v *service) (func(), error) {
			const perSecond, enough = 500, 4000
			return v.load(ctx, perSecond, shortOrLong("wait")), v.finishes(ctx, enough)
		},
		books: finishedSpans(spansOfWork),
	},
	{
		name: "streams", what: "10 000 open streams",
		run: func(ctx context.Context, v *service) (func(), error) {
			ctx, cancel := context.WithCancel(ctx)
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetUnencryptedHTTP2(true)
			client := &http.Client{Transport: transport}
			for range streams {
				go func() { _ = v.get(ctx, client, "/stream", newTrace()) }() // until the death
			}
			stop := func() { cancel(); transport.CloseIdleConnections() }
			return stop, v.until(ctx, "open streams",
				func() bool { return v.truth.count(isOpen) == streams })
		},
		books: openRequests,
	},
}

// finishes waits until a number of requests have finished.
func (v *service) finishes(ctx context.Context, n int) error {
	return v.until(ctx, "finished requests", func() bool { return v.truth.count(isFinished) >= n })
}

// count returns how many requests are in a state.
func (t *truth) count(is func(*record) bool) (n int) {
	for i := range t.used() {
		if is(&t.records[i]) {
			n++
		}
	}
	return n
}

func isFinished(r *record) bool { return r.left.Load() > 0 }
func isOpen(r *record) bool     { return r.began.Load() > 0 && r.done.Load() == 0 }

// entriesOfOpen balances the entries of each open request, together.
func entriesOfOpen(t *truth, _ *reported, a *arrivals) []book {
	b := book{what: "marks of open requests"}
	for i := range t.used() {
		note := &t.records[i]
		if !isOpen(note) {
			continue
		}
		b.least += int(note.entries.Load())
		b.most += int(note.entries.Load()) + 1 // written, and not yet in the truth
		if got := a.byTrace[note.trace.String()]; got != nil {
			b.reported += int(got.marks)
			b.leftOut += int(got.leftOut)
		}
	}
	return []book{b}
}

// finishedSpans balances the spans of finished requests.
func finishedSpans(each int) func(*truth, *reported, *arrivals) []book {
	return func(t *truth, r *reported, a *arrivals) []book {
		b := book{what: "spans of finished requests", leftOut: int(r.Lost)} //nolint:gosec // small
		last := t.last()
		for i := range t.used() {
			note := &t.records[i]
			got := a.byTrace[note.trace.String()]
			switch left := note.left.Load(); {
			case left > 0 && last-left >= int64(late):
				b.least += each
				b.most += each
			case note.done.Load() > 0:
				b.most += each
			default:
				continue
			}
			if got != nil {
				b.reported += got.spans
			}
		}
		return []book{b}
	}
}

// openRequests balances the open requests.
func openRequests(t *truth, r *reported, a *arrivals) []book {
	n := t.count(isOpen)
	arrived := 0
	for _, got := range a.byTrace {
		arrived += got.open
	}
	leftOut := int(r.LeftOut) //nolint:gosec // small
	return []book{
		{what: "open requests in the report", least: n, most: n, reported: r.Total,
			leftOut: leftOut},
		{what: "open requests at the backend", least: n, most: n, reported: arrived,
			leftOut: leftOut},
	}
}

// A bounded is the outcome of a death at a bound.
type bounded struct {
	kind  blackbox.Kind
	books []book
}

// dieAt makes a death at a bound.
func (o options) dieAt(ctx context.Context, b *bound) (_ bounded, err error) {
	v, err := o.begin(ctx, false)
	if err != nil {
		return bounded{}, err
	}
	defer func() { err = errors.Join(err, v.end()) }()
	v.backend.down.Store(b.down)
	stop, err := b.run(ctx, v)
	defer stop()
	if err != nil {
		return bounded{}, err
	}
	time.Sleep(rand.N(jitter)) //nolint:gosec // no secret
	if err := v.command.Process.Kill(); err != nil {
		return bounded{}, err
	}
	r, a, _, err := v.after(ctx, stop)
	if err != nil {
		return bounded{}, err
	}
	return bounded{r.Kind, b.books(v.truth, r, a)}, nil
}

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/blackbox"
)

const (
	young = 20 * time.Millisecond // requests that are open for less may be missing
	late  = 5 * time.Millisecond  // the last requests to end have a column of their own
)

// An outcome compares a report, and what the backend has, with the truth.
type outcome struct {
	kind, alone blackbox.Kind // with the parent's note, and without
	place       string
	crashed     bool // the report names the request that died
	unwound     bool // the panic ended the request that died, and the request was delivered so

	open, openMissed   int // for 20 ms or more
	young, youngMissed int
	invented           int // reported as open, and finished or unknown
	twofold            int // reported as open, and delivered as finished
	stale              int // open requests without their newest mark
	wrongType          int // open requests whose error.type is another one
	surplus            int // requests with more spans than they made
	most               int // requests that were open

	finished, lost, incomplete         int // before the last 5 ms
	lastFinished, lastLost, lastPieces int // of the last 5 ms
	twice, again                       int // spans: see arrivals
}

// judge compares. dying is the trace of the request that died, or "".
func judge(t *truth, r *reported, a *arrivals, dying string) (o outcome) {
	o.kind, o.place = r.Kind, r.Place
	o.twice, o.again = a.twice, a.again
	last := t.last()
	known := map[string]bool{}
	for i := range t.used() {
		note := &t.records[i]
		id := note.trace.String()
		known[id] = true
		got := a.byTrace[id]
		if got == nil {
			got = &arrival{step: -1}
		}
		if got.open > 0 && got.finished > 0 {
			o.twofold++
		}
		if got.spans > spansOfWork {
			o.surplus++
		}
		began, done, left := note.began.Load(), note.done.Load(), note.left.Load()
		switch {
		case left > 0:
			o.judgeFinished(got, id != dying, last-left < int64(late))
		case began > 0 && done == 0:
			o.judgeOpen(got, time.Duration(last-began) >= young, note.steps.Load(), r.Kind)
		}
	}
	for id, got := range a.byTrace {
		if got.open > 0 && !known[id] {
			o.invented++
		}
	}
	o.most = o.open + o.young
	if got := a.byTrace[dying]; got != nil {
		o.unwound = got.finished > 0
	}
	for _, id := range r.Crashed {
		o.crashed = o.crashed || id == dying
	}
	return o
}

func (o *outcome) judgeFinished(got *arrival, work, last bool) {
	if got.open > 0 {
		o.invented++
	}
	finished, lost, pieces := &o.finished, &o.lost, &o.incomplete
	if last {
		finished, lost, pieces = &o.lastFinished, &o.lastLost, &o.lastPieces
	}
	*finished++
	switch {
	case got.finished == 0:
		*lost++
	case work && got.spans < spansOfWork:
		*pieces++
	}
}

func (o *outcome) judgeOpen(got *arrival, old bool, steps int64, kind blackbox.Kind) {
	all, missed := &o.young, &o.youngMissed
	if old {
		all, missed = &o.open, &o.openMissed
	}
	*all++
	switch {
	case got.open == 0:
		*missed++
	case got.step+1 < steps:
		o.stale++
	}
	if got.open > 0 && got.errorType != strings.ReplaceAll(string(kind), " ", "_") {
		o.wrongType++
	}
}

// faults returns what must not be.
func (o outcome) faults(k *kind) (all []string) {
	fault := func(n int, what string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, what))
		}
	}
	if o.kind != k.kind {
		all = append(all, fmt.Sprintf("the kind is %q, must be %q", o.kind, k.kind))
	}
	if o.alone != k.alone {
		all = append(all, fmt.Sprintf("without the parent, the kind is %q, must be %q", o.alone,
			k.alone))
	}
	if k.crashes && !o.crashed && (!k.unwinds || !o.unwound) {
		all = append(all, "the report does not name the request that died")
	}
	fault(o.openMissed, "open requests are not reported")
	fault(o.invented, "reported requests were not open")
	fault(o.twofold, "requests are open and finished")
	fault(o.surplus, "requests have more spans than they made")
	fault(o.stale, "open requests lack their newest mark")
	fault(o.wrongType, "open requests have another error.type")
	fault(o.lost+o.lastLost, "finished requests are lost")
	fault(o.incomplete+o.lastPieces, "finished requests lack spans")
	fault(o.again, "spans came again, and the service had the answer")
	return all
}

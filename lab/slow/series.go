package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/lab/internal/cgroup"
	"github.com/perfline/perfline/lab/scripted"
)

// slowRoute is the route of the slow requests.
const slowRoute = "GET /orders/{id}"

// backgroundRate is how many requests a second other routes answer meanwhile.
const backgroundRate = 300

// A series has requests with the same causes.
type series struct {
	causes    []cause // one or two; all in a short run
	wanted    int     // runs
	agent     bool    // an agent finds the sentences
	sdk       bool    // the SDK's provider makes the spans
	any       bool    // every run counts
	runs      []run
	disturbed []run  // that do not count
	notRun    string // why there are no runs; empty if there are
}

func (s *series) name() string {
	var names []string
	for _, c := range s.causes {
		names = append(names, c.name)
	}
	return strings.Join(names, "+")
}

// title is the series in the table.
func (s *series) title() string {
	var titles []string
	for _, c := range s.causes {
		titles = append(titles, c.what)
	}
	return strings.Join(titles, "; ")
}

// allSeries returns each cause, and each pair of them. The parts of a pair come one after the
// other, and so each pair exists. Other programs have no pairs: they are there for all of a
// request, and not for a part of it. So is a limit of CPU time, but it stops only what needs a
// processor. It makes pairs with the causes that need none. With any other one, the limit would
// stop both parts.
func allSeries() (all []series) {
	for _, c := range causes {
		all = append(all, series{causes: []cause{c}})
	}
	for i, a := range causes {
		for _, b := range causes[i+1:] {
			if pair(a, b) {
				all = append(all, series{causes: []cause{a, b}})
			}
		}
	}
	return all
}

// pair reports whether a request can have both causes.
func pair(a, b cause) bool {
	return !a.others && !b.others && (!a.limits || b.idles) && (!b.limits || a.idles)
}

// shortSeries returns series that have all causes together: one request has all that happen inside
// the service. An agent gets that one only. A cause that is there for all of a request has a series
// of its own.
func shortSeries(agent bool) []series {
	all := []series{{}}
	for _, c := range causes {
		if c.others || c.limits {
			all = append(all, series{causes: []cause{c}})
		} else {
			all[0].causes = append(all[0].causes, c)
		}
	}
	if agent {
		return all[:1]
	}
	return all
}

// A run is one slow request.
type run struct {
	parts []part // in their order in the request
	outcome
	verdict verdict
	why     string // the run does not count; empty if it does
}

const (
	// mostAttempts is how many times as many requests as needed are made, on a busy machine.
	mostAttempts = 10

	// leastRatio is between the larger part and the rest, as the service has measured them.
	leastRatio = 1.5
)

// run makes a slow request.
func (c *child) run(ctx context.Context, number int, parts []part) (r run, err error) {
	r.parts = parts
	if r.outcome, err = c.slow(ctx, number, parts); err != nil {
		return r, err
	}
	if c.agent != nil && r.Trouble == "" {
		if r.Sentence, _, err = c.agent.Diagnose(ctx, slowRoute, nil); err != nil {
			return r, err
		}
	}
	r.verdict = judge(parts, r.outcome)
	switch {
	case r.verdict.others && r.Delayed >= little:
		r.why = fmt.Sprintf("other programs or machines kept threads from running for %v",
			r.Delayed)
	case !r.clear():
		r.why = fmt.Sprintf("the larger part was not clearly the largest: %v of %v", r.Took, r.Wall)
	}
	return r, nil
}

// clear reports whether the part that was to be the largest has been it: beside the other part, and
// beside all that no part is.
func (r run) clear() bool {
	rest := r.Wall
	largest, other := time.Duration(0), time.Duration(0)
	for i, took := range r.Took {
		rest -= took
		if r.parts[i].cause.name == r.larger().cause.name {
			largest = took
		} else {
			other = took
		}
	}
	return float64(largest) >= leastRatio*float64(max(other, rest))
}

// planned returns the parts of run i. In a pair, the larger cause is the first one in every other
// run. The order in the request changes every two runs, and the ways change as often as there are
// ways.
func (s *series) planned(i int) (parts []part) {
	for k, c := range s.causes {
		p := part{cause: c, takes: large}
		if len(c.ways) > 0 {
			p.way = c.ways[(i/4+i)%len(c.ways)]
		}
		if len(s.causes) > 1 && k != i%2 {
			p.takes = little
		}
		if s.oneProcessor() && p.way == computing && c.name == "mutex" {
			p.way = calling // the holder would take the processor from the request
		}
		if s.limits() && p.way == computing {
			p.way = calling // the limit would stop the holder or the reader
		}
		parts = append(parts, p)
	}
	if i/2%2 == 1 {
		slices.Reverse(parts)
	}
	return parts
}

func (s *series) oneProcessor() bool {
	return slices.ContainsFunc(s.causes, func(c cause) bool { return c.oneProcessor })
}

func (s *series) limits() bool {
	return slices.ContainsFunc(s.causes, func(c cause) bool { return c.limits })
}

// make runs n requests of the series in a service of its own, under background load. It runs none
// where the machine cannot have the cause.
func (s *series) make(ctx context.Context, around *surroundings, n int) (err error) {
	if slices.ContainsFunc(s.causes, func(c cause) bool { return c.others }) {
		stop, err := startBurners(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	live := slices.ContainsFunc(s.causes, func(c cause) bool { return c.name == "assist" })
	kind := kindOfChild{oneProcessor: s.oneProcessor(), live: live, sdk: s.sdk}
	if s.limits() {
		period := longPeriod
		if len(s.causes) > 1 {
			period = shortPeriod
		}
		if kind.group, err = newGroup(ctx, cgroup.Root, period); err != nil {
			s.notRun = err.Error()
			return ctx.Err()
		}
		defer func() { err = errors.Join(err, kind.group.Close()) }()
	}
	c, err := startChild(ctx, around, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop()) }()
	if s.agent {
		if c.agent, err = scripted.Start(ctx, "http://"+c.judge+mcpPath); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.agent.Close()) }()
	}
	background := load.Requests(ctx, "http://"+c.requests+"/products/1009", backgroundRate)
	for attempts := 0; err == nil && len(s.runs) < n && attempts < mostAttempts*n; attempts++ {
		var r run
		if r, err = c.run(ctx, attempts, s.planned(len(s.runs))); err != nil {
			break
		}
		if r.why == "" || s.any {
			s.runs = append(s.runs, r)
		} else {
			s.disturbed = append(s.disturbed, r)
		}
	}
	results := background.Stop()
	if err == nil {
		err = results.Err()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.name(), err)
	}
	return err
}

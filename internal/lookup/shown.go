package lookup

import (
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// shownTo returns r without the functions that shows hides: the time of a hidden function counts
// for the nearest visible one that called it. r does not change. shows is called often, and for the
// same names.
func shownTo(r *waits.Request, shows func(function string) bool) *waits.Request {
	v := &view{shows: shows, callers: map[string]string{}, stacks: map[stackKey][]waits.Frame{},
		parties: map[*waits.Party]*waits.Party{}}
	q := *r
	q.Goroutines = make([]waits.Goroutine, len(r.Goroutines))
	for i := range r.Goroutines {
		g := r.Goroutines[i]
		g.Function = v.function(g.Function, nil)
		intervals := make([]waits.Interval, len(g.Intervals))
		for j := range g.Intervals {
			intervals[j] = g.Intervals[j]
			intervals[j].Stack, intervals[j].By = v.stack(g.Intervals[j].Stack),
				v.party(g.Intervals[j].By)
			v.noteCaller(&g.Intervals[j], &intervals[j])
		}
		g.Intervals = intervals
		q.Goroutines[i] = g
	}
	q.Causes = make([]waits.Cause, len(r.Causes))
	for i := range r.Causes {
		c := r.Causes[i]
		c.By = v.party(c.By)
		if caller, hidden := v.callers[c.Function]; hidden { // a cause has no stack
			c.Function = caller
		}
		c.Function = v.function(c.Function, nil)
		q.Causes[i] = c
	}
	return &q
}

// A view makes one visible copy of each stack and party: they are shared in what it copies, too.
type view struct {
	shows   func(string) bool
	callers map[string]string // of hidden functions of intervals, the nearest visible ones
	stacks  map[stackKey][]waits.Frame
	parties map[*waits.Party]*waits.Party
}

// noteCaller notes which visible function called the hidden function of an interval.
func (v *view) noteCaller(interval, visible *waits.Interval) {
	if name := waiting.Function(interval); name != "" && v.callers[name] == "" && !v.shows(name) {
		v.callers[name] = waiting.Function(visible)
	}
}

// A stackKey tells one stack from another.
type stackKey struct {
	first *waits.Frame
	n     int
}

// function returns the name of a function, or of the nearest visible one in its stack; empty
// without one.
func (v *view) function(name string, stack []waits.Frame) string {
	if name == "" || v.shows(name) {
		return name
	}
	for _, f := range stack {
		if !waiting.Standard(f.Function) {
			return f.Function
		}
	}
	return ""
}

func (v *view) stack(all []waits.Frame) []waits.Frame {
	if len(all) == 0 {
		return nil
	}
	key := stackKey{&all[0], len(all)}
	if known, ok := v.stacks[key]; ok {
		return known
	}
	var visible []waits.Frame
	for _, f := range all {
		if v.shows(f.Function) {
			visible = append(visible, f)
		}
	}
	v.stacks[key] = visible
	return visible
}

func (v *view) party(p *waits.Party) *waits.Party {
	if p == nil {
		return nil
	}
	if known, ok := v.parties[p]; ok {
		return known
	}
	own := *p
	own.Stack = v.stack(p.Stack)
	own.Function = v.function(p.Function, own.Stack)
	v.parties[p] = &own
	return &own
}

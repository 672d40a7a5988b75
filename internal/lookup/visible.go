package lookup

import (
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// visibleCopy returns a copy of r without the functions that shows hides. The time of a hidden
// function counts for the nearest visible function that called it. visibleCopy calls shows often
// with the same names.
func visibleCopy(r *waits.Request, shows func(function string) bool) *waits.Request {
	v := &view{shows: shows, callers: map[string]string{}, stacks: map[stackKey][]waits.Frame{},
		parties: map[*waits.Party]*waits.Party{}}
	q := *r
	q.Goroutines = make([]waits.Goroutine, len(r.Goroutines))
	for i, g := range r.Goroutines {
		g.Function = v.function(g.Function, nil)
		intervals := make([]waits.Interval, len(g.Intervals))
		for j, interval := range g.Intervals {
			visible := &intervals[j]
			*visible = interval
			visible.Stack, visible.By = v.stack(interval.Stack), v.party(interval.By)
			name := waiting.Function(&interval)
			if name != "" && v.callers[name] == "" && !shows(name) {
				v.callers[name] = waiting.Function(visible)
			}
		}
		g.Intervals = intervals
		q.Goroutines[i] = g
	}
	q.Causes = make([]waits.Cause, len(r.Causes))
	for i, c := range r.Causes {
		c.By, c.In = v.party(c.By), v.party(c.In)
		if caller, hidden := v.callers[c.Function]; hidden { // a cause has no stack
			c.Function = caller
		}
		c.Function, c.Via = v.function(c.Function, nil), v.function(c.Via, nil)
		q.Causes[i] = c
	}
	return &q
}

// A view copies each stack and party once, because intervals share them.
type view struct {
	shows   func(string) bool
	callers map[string]string // the nearest visible caller of each hidden function of an interval
	stacks  map[stackKey][]waits.Frame
	parties map[*waits.Party]*waits.Party
}

// A stackKey identifies a stack by its memory.
type stackKey struct {
	first *waits.Frame
	n     int
}

// function returns the name of a visible function. For a hidden function it returns the innermost
// function of the visible stack that is not of the standard library, or "".
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

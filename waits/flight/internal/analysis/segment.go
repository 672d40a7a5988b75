package analysis

import (
	"sort"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/waits"
)

// An openSegment is the current activity of a goroutine.
type openSegment struct {
	start    xtrace.Time
	activity activity
	stack    xtrace.Stack // of the wait, or an observed stack of the running goroutine
	span     *span        // of the goroutine
}

// observe adds a stack of the running goroutine.
func (o *openSegment) observe(stack xtrace.Stack) {
	switch {
	case o.activity > assisting || stack == xtrace.NoStack:
	case o.activity == executingNote:
		o.activity, o.stack = executing, stack
	case o.stack == xtrace.NoStack:
		o.stack = stack
	}
}

// A segment is a time in which a goroutine does one thing, for one span.
type segment struct {
	start, end xtrace.Time
	activity   activity
	stack      stackID
	span       *span
	wake       *wake // the end of the wait
}

// A record is a segment in memory, without pointers: a trace of 10 MB has a million segments, and
// the garbage collector need not scan records.
type record struct {
	start, end xtrace.Time
	stack      stackID
	span, wake uint32 // indexes; 0 is none
	activity   activity
}

// isExact reports whether the goroutine ran with the stack of the record.
func (r *record) isExact() bool { return r.activity == executing && r.stack != 0 }

// A wake is the end of a wait.
type wake struct {
	by    *goroutine // nil if the network poller or a timer ended the wait
	span  *span      // of by
	stack stackID
}

func (a *analyzer) change(g *goroutine, at xtrace.Time, next activity, stack xtrace.Stack,
	w *wake) {
	a.end(g, at, w)
	g.current = openSegment{start: at, activity: next, stack: stack, span: g.owner.current()}
	a.join(g)
}

func (a *analyzer) end(g *goroutine, at xtrace.Time, w *wake) {
	now := &g.current
	if at <= now.start || !overlap(a.windows, now.start, at) {
		return
	}
	r := record{start: now.start, end: at, activity: now.activity, stack: a.stacks.id(now.stack)}
	if s := now.span; s != nil {
		if s.index == 0 {
			s.index = uint32(len(a.stored))
			a.stored = append(a.stored, s)
		}
		r.span = s.index
	}
	if w != nil {
		r.wake = uint32(a.wakes.length())
		a.wakes.add(*w)
	}
	if g.records == nil {
		g.records = make([]record, 0, 8) // most goroutines have more than one
	}
	g.records = append(g.records, r)
}

func (a *analyzer) segment(g *goroutine, i int) segment {
	r := &g.records[i]
	s := segment{
		start: r.start, end: r.end, activity: r.activity, stack: r.stack, span: a.stored[r.span],
	}
	if s.span == nil {
		s.span = g.served(r.start)
	}
	if r.wake > 0 {
		s.wake = a.wakes.at(int(r.wake))
	}
	return s
}

// segments returns the indexes of the records that overlap with [from, to).
func (g *goroutine) segments(from, to xtrace.Time) (first, end int) {
	first = sort.Search(len(g.records), func(i int) bool { return g.records[i].end > from })
	for end = first; end < len(g.records) && g.records[end].start < to; end++ {
	}
	return first, end
}

// assistTime returns for how long g assisted the garbage collector in [from, to).
func (g *goroutine) assistTime(from, to xtrace.Time) (d time.Duration) {
	if !g.assists {
		return 0
	}
	first, end := g.segments(from, to)
	for _, s := range g.records[first:end] {
		if s.activity == assisting {
			d += min(s.end, to).Sub(max(s.start, from))
		}
	}
	return d
}

func (s *segment) kind(stacks *stacks) waits.Kind {
	// No goroutine ended the wait. The network poller has its own reason.
	timer := s.wake != nil && s.wake.by == nil
	switch s.activity {
	case executing, executingNote:
		return waits.OnCPU
	case assisting, waitingCollector:
		return waits.GCAssist
	case runnable:
		return waits.Runnable
	case inSyscall:
		if stacks.callsC(s.stack) {
			return waits.CCode
		}
		return waits.Syscall
	case waitingNetwork:
		return stacks.pollKind(s.stack)
	case waitingSleep:
		return waits.Timer
	case waitingSend:
		return waits.ChannelSend
	case waitingCondition:
		return waits.Condition
	case waitingReceive, waitingSelect:
		switch class := stacks.get(s.stack).wait; {
		case class == waits.Pool, s.stack == 0 && s.wake != nil && stacks.handsOver(s.wake.stack):
			return waits.Pool
		case timer:
			return waits.Timer
		case s.activity == waitingSelect:
			return waits.Select
		}
		return waits.ChannelReceive
	case waitingSync:
		if class := stacks.get(s.stack).wait; class != waits.Wait || s.wake == nil {
			return class
		}
		return stacks.get(s.wake.stack).wait
	default:
		return waits.Wait
	}
}

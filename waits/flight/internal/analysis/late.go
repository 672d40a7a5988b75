package analysis

import (
	"sort"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/waits"
)

// longestSilence is the longest time without an event in a process that runs. The timer of the next
// beat is at most a millisecond late, because the network poller counts in milliseconds.
const longestSilence = tracelog.BeatInterval + 2*time.Millisecond

// subtractLate attributes the time in which the system did not run the process, and therefore
// nothing noticed the end of the wait p of g. subtractLate returns the rest. The end of p is late
// if the trace was silent until just before.
func (c *collector) subtractLate(g *goroutine, p piece, at place) piece {
	if !endsWait(g, p) {
		return p
	}
	i := sort.Search(len(c.silences), func(i int) bool { return c.silences[i].end > p.end }) - 1
	if i < 0 || p.end.Sub(c.silences[i].end) > freeProcessor {
		return p
	}
	from, to := max(p.start, c.silences[i].start), c.silences[i].end
	for _, l := range c.processors.stopped(from, to) {
		part := p
		part.start = p.end - xtrace.Time(l.time)
		c.addLack(l, part, at)
		p.end = part.start
	}
	return p
}

// endsWait reports whether g continues at the end of p: p is not cut.
func endsWait(g *goroutine, p piece) bool {
	next := p.index + 1 // the first record after a gap before the goroutine
	return next < len(g.records) && g.records[next].start == p.end
}

// stopped returns the part of a silence [from, to) for which the kernel's counts have a reason. The
// kernel counts threads that a limit stopped as threads that waited for a processor, too.
func (p *processors) stopped(from, to xtrace.Time) (all []lack) {
	left := to.Sub(from)
	for before, after := range p.accountPairs(from, to) {
		add := func(kind waits.Kind, limit float64, d time.Duration) {
			d = max(0, min(d, left))
			left -= d
			all = mergeLack(all, lack{kind, limit, d})
		}
		throttled := after.got.Throttled - before.got.Throttled
		add(waits.CPULimit, after.got.Limit, throttled)
		add(waits.OtherPrograms, 0, after.got.Delayed-before.got.Delayed-throttled)
	}
	return all
}

package analysis

import (
	"iter"
	"slices"
	"sort"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/waits"
)

// processors records the goroutines on the runtime's processors (its Ps), and the CPU time.
type processors struct {
	windows []window
	runs    map[xtrace.ProcID]*chunks[run] // in the windows: of a processor in order, disjoint

	// busy is the total running time of goroutines until since; count goroutines run now.
	busy  time.Duration
	count int
	since xtrace.Time

	accounts []account

	tallied []*goroutine // storage of holder
	pause   func()
	visited int // number of visited runs
}

// A tally is the time for which a goroutine held processors.
type tally struct {
	total   time.Duration
	longest run
}

// A run is a time in which a goroutine holds a processor.
type run struct {
	start, end xtrace.Time
	by         *goroutine
}

func (r run) length() time.Duration { return r.end.Sub(r.start) }

// An account is a note of the time in which the process did and did not run.
type account struct {
	at   xtrace.Time
	busy time.Duration
	got  cputime.Usage
}

func newProcessors(windows []window, pause func()) *processors {
	return &processors{windows: windows, pause: pause, runs: map[xtrace.ProcID]*chunks[run]{}}
}

func (p *processors) see(id xtrace.ProcID) {
	if p.runs[id] == nil && id != xtrace.NoProc {
		p.runs[id] = &chunks[run]{}
	}
}

// shortSyscall is the part of a system call that counts as CPU time. After that time, the runtime
// may take the processor away from the goroutine (sysmon in proc.go). Longer calls probably wait.
const shortSyscall = 20 * time.Microsecond

func (p *processors) syscall(length time.Duration) { p.busy += min(length, shortSyscall) }

func (p *processors) add(at xtrace.Time) {
	p.busy += time.Duration(p.count) * at.Sub(p.since)
	p.since = at
}

func (p *processors) start(at xtrace.Time) {
	p.add(at)
	p.count++
}

func (p *processors) stop(g *goroutine, at xtrace.Time) {
	p.add(at)
	p.count--
	if g.processor == xtrace.NoProc || !overlap(p.windows, g.resumed, at) {
		return
	}
	p.see(g.processor)
	runs := p.runs[g.processor]
	if n := runs.length(); n > 0 {
		if last := runs.at(n - 1); last.by == g && g.resumed.Sub(last.end) <= shortSyscall {
			last.end = at
			return
		}
	}
	runs.add(run{start: g.resumed, end: at, by: g})
}

func (p *processors) account(at xtrace.Time, got cputime.Usage) {
	p.add(at)
	p.accounts = append(p.accounts, account{at: at, busy: p.busy, got: got})
}

// A holder is the goroutine that held the processors most during a time.
type holder struct {
	by      *goroutine // nil if only the garbage collector ran
	longest run        // of by
	// free is set if one processor, where goroutines could run, was free for most of the time.
	free bool

	// worker is the garbage collector's worker that ran most, or nil. collected is the part of the
	// used time that went to all workers and assists.
	worker    *goroutine
	collected float64
}

// runsPerPause is a number of visits that take less than a millisecond.
const runsPerPause = 4000

// holder returns the holder of the processors in [from, to), without the goroutine except.
func (p *processors) holder(from, to xtrace.Time, except *goroutine) (h holder) {
	p.tallied = p.tallied[:0]
	var all, collected time.Duration
	for _, runs := range p.runs {
		var used time.Duration
		i := sort.Search(runs.length(), func(i int) bool { return runs.at(i).end > from })
		for ; i < runs.length() && runs.at(i).start < to; i++ {
			if p.visited++; p.visited%runsPerPause == 0 {
				p.pause()
			}
			r := *runs.at(i)
			r.start, r.end = max(from, r.start), min(to, r.end) // not empty
			used += r.length()
			if r.by == except {
				continue
			}
			all += r.length()
			if r.by.collects {
				collected += r.length()
			} else {
				collected += r.by.assistTime(r.start, r.end)
			}
			t := &r.by.tally
			if t.total == 0 {
				p.tallied = append(p.tallied, r.by)
			}
			if t.total += r.length(); r.length() > t.longest.length() {
				t.longest = r
			}
		}
		h.free = h.free || used < to.Sub(from)/2
	}
	for _, g := range p.tallied {
		best := &h.by
		if g.collects {
			best = &h.worker
		}
		if old := *best; old == nil || g.tally.total > old.tally.total ||
			g.tally.total == old.tally.total && g.id < old.id {
			*best = g
		}
	}
	if h.by != nil {
		h.longest = h.by.tally.longest
	}
	for _, g := range p.tallied {
		g.tally = tally{}
	}
	if all > 0 {
		h.collected = float64(collected) / float64(all)
	}
	return h
}

// The process lacks CPU time if it got at most fullShare of its goroutines' running time, and at
// least minMissed less.
const (
	fullShare = 0.8
	minMissed = 2 * time.Millisecond
)

// A lack is time in which goroutines ran, as the runtime sees it, but not on a processor.
type lack struct {
	kind  waits.Kind // OtherPrograms, CPULimit or NotRun
	limit float64    // of a CPULimit
	time  time.Duration
}

func (p *processors) lacks(from, to xtrace.Time) (all []lack) {
	for before, after := range p.accountPairs(from, to) {
		busy, got := after.busy-before.busy, after.got.Process-before.got.Process
		missed := busy - got
		if missed < minMissed || float64(got) > fullShare*float64(busy) {
			continue
		}
		length := min(to, after.at).Sub(max(from, before.at))
		part := float64(length) / float64(busy) // of the missed time between the two notes
		add := func(kind waits.Kind, limit float64, d time.Duration) {
			all = mergeLack(all, lack{kind, limit, time.Duration(part * float64(d))})
		}
		throttled := min(missed, throttling(before, after))
		rest := missed - throttled
		// The later note misses threads that have ended.
		delayed := max(0, min(rest, after.got.Delayed-before.got.Delayed))
		add(waits.CPULimit, after.got.Limit, throttled)
		add(waits.OtherPrograms, 0, delayed)
		// A signal or a debugger stopped the process, its group is frozen, or the machine paused.
		add(waits.NotRun, 0, rest-delayed)
	}
	left := to.Sub(from)
	for i := range all {
		all[i].time = min(all[i].time, left)
		left -= all[i].time
	}
	return slices.DeleteFunc(all, func(l lack) bool { return l.time == 0 })
}

// throttling returns how long a limit stopped the process between two notes. The kernel counts this
// time for each processor, when the stop ends: of two threads that wait on one processor it counts
// one, and a later note may count the stop. Therefore throttling returns at least the time that the
// goroutines needed beyond the limit, if the later note contains the limit. Delayed does not help:
// the kernel counts stopped threads there, too.
func throttling(before, after account) time.Duration {
	throttled := after.got.Throttled - before.got.Throttled
	if throttled <= 0 || after.got.Limit == 0 {
		return max(0, throttled)
	}
	allowed := time.Duration(after.got.Limit * float64(after.at.Sub(before.at)))
	return max(throttled, after.busy-before.busy-allowed)
}

// mergeLack adds a lack to the lack of its kind.
func mergeLack(all []lack, l lack) []lack {
	if l.time <= 0 {
		return all
	}
	for i := range all {
		if all[i].kind == l.kind {
			all[i].time += l.time
			return all
		}
	}
	return append(all, l)
}

// delay returns why a goroutine that was ready in [from, to) did not run on a free processor.
func (p *processors) delay(from, to xtrace.Time) lack {
	l := lack{kind: waits.NotRun, time: to.Sub(from)}
	for before, after := range p.accountPairs(from, to) {
		switch {
		case after.got.Throttled > before.got.Throttled:
			return lack{waits.CPULimit, after.got.Limit, l.time}
		case after.got.Delayed-before.got.Delayed >= l.time/2:
			l.kind = waits.OtherPrograms
		}
	}
	return l
}

// accountPairs yields the adjacent notes with a time between them that overlaps with [from, to).
func (p *processors) accountPairs(from, to xtrace.Time) iter.Seq2[account, account] {
	return func(yield func(before, after account) bool) {
		i := sort.Search(len(p.accounts), func(i int) bool { return p.accounts[i].at > from })
		for i = max(i, 1); i < len(p.accounts) && p.accounts[i-1].at < to; i++ {
			if !yield(p.accounts[i-1], p.accounts[i]) {
				return
			}
		}
	}
}

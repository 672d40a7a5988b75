package analysis

import (
	"iter"
	"sort"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/waits"
)

// processors know which goroutines ran on the processors of the runtime (its Ps), and how much CPU
// time the process got.
type processors struct {
	windows []window
	runs    map[xtrace.ProcID]*chunks[run] // in the windows: for each processor in order, disjoint

	// The time that goroutines have run, up to since. count of them run now.
	busy  time.Duration
	count int
	since xtrace.Time

	accounts []account

	tallied []*goroutine // by most, which uses the slice again
	pause   func()
	visited int // runs so far
}

// A tally is how long a goroutine held processors.
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

// An account is a note of the CPU time that the process had got, and of what kept the rest from it.
type account struct {
	at   xtrace.Time
	busy time.Duration
	got  cputime.Usage
}

func newProcessors(windows []window, pause func()) *processors {
	return &processors{windows: windows, pause: pause, runs: map[xtrace.ProcID]*chunks[run]{}}
}

// see notes that a processor exists.
func (p *processors) see(id xtrace.ProcID) {
	if p.runs[id] == nil && id != xtrace.NoProc {
		p.runs[id] = &chunks[run]{}
	}
}

// shortSyscall is the length of a system call that is taken for CPU time. After that time the
// runtime may take the processor away from a goroutine (sysmon in proc.go). Longer calls probably
// wait.
const shortSyscall = 20 * time.Microsecond

func (p *processors) syscall(length time.Duration) { p.busy += min(length, shortSyscall) }

func (p *processors) add(at xtrace.Time) {
	p.busy += time.Duration(p.count) * at.Sub(p.since)
	p.since = at
}

// start notes that one more goroutine runs.
func (p *processors) start(at xtrace.Time) {
	p.add(at)
	p.count++
}

// stop notes that g does not run any more.
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

// A holder is the goroutine that held the processors most in a time.
type holder struct {
	by      *goroutine // nil if only the garbage collector ran
	longest run        // of it
	// one processor was free for most of the time: the runtime could have started another goroutine
	// on it
	free bool

	// The garbage collector: the worker that ran most, nil if none did, and the part of the time in
	// use that went to all workers and to goroutines that helped.
	worker    *goroutine
	collected float64
}

// runsPerPause are visited in less than a millisecond.
const runsPerPause = 4000

// most returns the holder of the processors in [from, to).
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

// The process was kept from running when it got less CPU time than this part of the time in which
// its goroutines ran, as the runtime sees it. It must also have missed more than leastMissed.
const (
	fullShare = 0.8
	minMissed = 2 * time.Millisecond
)

// A lack is time in which goroutines that ran, as the runtime sees it, were not on a processor.
type lack struct {
	kind  waits.Kind // OtherPrograms, CPULimit or NotRun
	limit float64    // of a CPULimit
	time  time.Duration
}

// stolen returns the lacks in [from, to), one for each kind.
func (p *processors) lacks(from, to xtrace.Time) (all []lack) {
	for before, after := range p.accountPairs(from, to) {
		busy, got := after.busy-before.busy, after.got.Process-before.got.Process
		missed := busy - got
		if missed < minMissed || float64(got) > fullShare*float64(busy) {
			continue
		}
		length := min(to, after.at).Sub(max(from, before.at))
		part := float64(length) / float64(busy) // of what is missed between the two notes
		throttled := min(missed, throttling(before, after))
		all = mergeLack(all, lack{waits.CPULimit, after.got.Limit,
			time.Duration(part * float64(throttled))})
		rest := missed - throttled
		// threads that ended are not in the later note
		delayed := max(0, min(rest, after.got.Delayed-before.got.Delayed))
		all = mergeLack(all, lack{kind: waits.OtherPrograms,
			time: time.Duration(part * float64(delayed))})
		// The process was stopped by a signal or a debugger, its group is frozen, or the machine
		// stood still.
		all = mergeLack(all, lack{kind: waits.NotRun,
			time: time.Duration(part * float64(rest-delayed))})
	}
	left := to.Sub(from)
	for i := range all {
		all[i].time = min(all[i].time, left)
		left -= all[i].time
	}
	return all
}

// limited returns how long a limit has kept the process from running between two notes. The kernel
// counts that for each processor, and when the stop ends: of two threads that wait on one processor
// it counts one, and a stop may be in a later note. So limited returns no less than what the
// goroutines needed beyond the limit, if the later note has the limit. Delayed cannot tell: the
// kernel counts stopped threads there, too.
func throttling(before, after account) time.Duration {
	throttled := after.got.Throttled - before.got.Throttled
	if throttled <= 0 || after.got.Limit == 0 {
		return max(0, throttled)
	}
	allowed := time.Duration(after.got.Limit * float64(after.at.Sub(before.at)))
	return max(throttled, after.busy-before.busy-allowed)
}

// addLack adds a lack to those of its kind.
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

// kept returns why a goroutine that was ready in [from, to) did not run on a processor of the
// runtime that was free.
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

// between yields each two notes that follow each other, where the time between them overlaps with
// [from, to).
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

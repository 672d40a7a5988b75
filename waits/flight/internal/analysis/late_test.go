package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	xtrace "golang.org/x/exp/trace"
	"pgregory.net/rapid"

	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/waits"
)

const (
	millisecond = time.Millisecond
	requested   = xtrace.GoID(1) // serves the request
	recording   = xtrace.GoID(2) // writes the beats and the notes of CPU time
	busy        = xtrace.GoID(3)
)

// A process is a model of a program in which one request waits again and again. The operating system stops the process at
// times. Nothing happens during a stop. An event that is due during a stop happens at the end of the stop.
type process struct {
	stops []stopped
	waits []wait
	busy  bool // a goroutine runs all the time, and the runtime preempts the goroutine at each beat
	mute  bool // nothing writes beats
}

type stopped struct {
	from, to time.Duration
	kind     waits.Kind // CPULimit or OtherPrograms; Gap for a stop that the kernel does not count
}

// A wait begins where the earlier wait has ended, and a millisecond of work lies between.
type wait struct {
	reason string // of the runtime, "system call" or "C code"
	length time.Duration
}

// when returns the time at which something happens that is due.
func (p *process) when(due time.Duration) time.Duration {
	for _, s := range p.stops {
		if s.from <= due && due < s.to {
			return s.to
		}
	}
	return due
}

// counts returns the CPU times of the process, which got all of the running time of its two goroutines: the kernel counts a stop when the stop ends, and counts a thread that a
// limit stops as one that waits for a processor, too.
func (p *process) counts(at time.Duration) string {
	var throttled, delayed time.Duration
	for _, s := range p.stops {
		if s.to > at {
			continue
		}
		switch s.kind {
		case waits.CPULimit:
			throttled += s.to - s.from
			delayed += s.to - s.from
		case waits.OtherPrograms:
			delayed += s.to - s.from
		default:
		}
	}
	return fmt.Sprint(int64(2*at+1), " ", int64(throttled), " 400 ", int64(delayed))
}

var stacksOf = map[string][]xtrace.StackFrame{
	"network": {{Func: "net.(*conn).Read"}},
	"C code":  {{PC: 1, Func: "example.com/store._Cfunc_sqlite3_step"}, {PC: 2, Func: "example.com/store.(*DB).find"}, {PC: 3, Func: "net/http.(*conn).serve"}},
}

type timed struct {
	at    time.Duration
	event xtrace.Event
}

// An ending is when a wait was due, and when the wait ended.
type ending struct{ due, at time.Duration }

// run returns the request as the analysis sees it.
func (p *process) run(t testing.TB) (r waits.Request, ends []ending) {
	t.Helper()
	var events []timed
	add := func(at time.Duration, e xtrace.Event, err error) {
		if err != nil {
			t.Fatalf("event at %v: %v", at, err)
		}
		events = append(events, timed{at, e})
	}
	when := func(at time.Duration) xtrace.Time { return xtrace.Time(time.Second + at) }
	transit := func(at time.Duration, id xtrace.GoID, from, to xtrace.GoState, reason string) {
		s := xtrace.MakeGoStateTransition(id, from, to)
		s.Reason = reason
		c := xtrace.EventConfig[xtrace.StateTransition]{Kind: xtrace.EventStateTransition, Time: when(at), Goroutine: xtrace.NoGoroutine, Proc: xtrace.ProcID(id), Thread: 1, Details: s}
		if from == xtrace.GoRunning || from == xtrace.GoSyscall {
			c.Goroutine = id
		}
		if frames := stacksOf[reason]; len(frames) > 0 && to != xtrace.GoRunning {
			c.Stack = xtrace.MakeStack(frames)
			s.Stack = c.Stack
			c.Details = s
		}
		e, err := xtrace.MakeEvent(c)
		add(at, e, err)
	}
	log := func(at time.Duration, id xtrace.GoID, category, message string) {
		e, err := xtrace.MakeEvent(xtrace.EventConfig[xtrace.Log]{
			Kind: xtrace.EventLog, Time: when(at), Goroutine: id, Proc: 1, Thread: 1, Details: xtrace.Log{Category: category, Message: message},
		})
		add(at, e, err)
	}
	transit(0, requested, xtrace.GoUndetermined, xtrace.GoRunning, "")
	if p.busy {
		transit(0, busy, xtrace.GoUndetermined, xtrace.GoRunning, "")
	}
	const id = "00000000000000cd 000000000000000000000000000000ab GET /"
	log(0, requested, "perfline.root", id)
	at := time.Duration(0)
	for _, w := range p.waits {
		at = p.when(at + millisecond)
		due := at + w.length
		end := p.when(due)
		if w.reason == "system call" || w.reason == "C code" {
			transit(at, requested, xtrace.GoRunning, xtrace.GoSyscall, w.reason)
			transit(end, requested, xtrace.GoSyscall, xtrace.GoRunning, "")
		} else {
			transit(at, requested, xtrace.GoRunning, xtrace.GoWaiting, w.reason)
			transit(end, requested, xtrace.GoWaiting, xtrace.GoRunnable, "")
			transit(end, requested, xtrace.GoRunnable, xtrace.GoRunning, "")
		}
		at = end
		ends = append(ends, ending{due, end})
	}
	last := p.when(at + millisecond)
	log(last, requested, "perfline.ended", id)
	for due := time.Duration(0); due < last+200*millisecond; due += tracelog.BeatInterval {
		at := p.when(due)
		if due%(100*millisecond) == 0 {
			log(at, recording, "perfline.cpu", p.counts(at))
		}
		if !p.mute {
			log(at, recording, "perfline.beat", "")
		}
		if p.busy {
			transit(at, busy, xtrace.GoRunning, xtrace.GoRunnable, "preempted")
			transit(at, busy, xtrace.GoRunnable, xtrace.GoRunning, "")
		}
	}
	slices.SortStableFunc(events, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	root := Root{TraceID: trace.TraceID{15: 0xab}, SpanID: trace.SpanID{7: 0xcd}}
	a := newAnalyzer([]Root{root}, []window{{when(0), when(last)}}, func(string) bool { return false }, func() {})
	for i := range events {
		a.event(&events[i].event)
	}
	a.close()
	requests := a.requests()
	if len(requests) != 1 {
		t.Fatalf("%d requests, want 1", len(requests))
	}
	return requests[0], ends
}

// durations returns the time of each kind of cause.
func durations(r *waits.Request) map[waits.Kind]time.Duration {
	all := map[waits.Kind]time.Duration{}
	for _, c := range r.Causes {
		all[c.Kind] += c.Duration
	}
	return all
}

// A wait that ends while the process is stopped counts for what stopped the process, from the stop on. A wait of the same
// length in an idle process, or after a stop, does not.
func TestLateWakeUps(t *testing.T) {
	limit := []stopped{{22 * millisecond, 80 * millisecond, waits.CPULimit}}
	type kinds map[waits.Kind]time.Duration
	for name, c := range map[string]struct {
		p    process
		want kinds
	}{
		"idle process":                  {process{waits: []wait{{"sleep", 60 * millisecond}}}, kinds{waits.Timer: 60 * millisecond}},
		"limit":                         {process{stops: limit, waits: []wait{{"sleep", 22 * millisecond}}}, kinds{waits.Timer: 21 * millisecond, waits.CPULimit: 58 * millisecond}},
		"limit beside a busy goroutine": {process{stops: limit, busy: true, waits: []wait{{"sleep", 22 * millisecond}}}, kinds{waits.Timer: 21 * millisecond, waits.CPULimit: 58 * millisecond}},
		"other programs": {
			process{stops: []stopped{{20 * millisecond, 80 * millisecond, waits.OtherPrograms}}, waits: []wait{{"sleep", 22 * millisecond}}},
			kinds{waits.Timer: 19 * millisecond, waits.OtherPrograms: 60 * millisecond},
		},
		"a stop without a count":      {process{stops: []stopped{{20 * millisecond, 80 * millisecond, waits.Gap}}, waits: []wait{{"sleep", 22 * millisecond}}}, kinds{waits.Timer: 79 * millisecond}},
		"without beats":               {process{mute: true, stops: limit, waits: []wait{{"sleep", 22 * millisecond}}}, kinds{waits.Timer: 79 * millisecond}},
		"the network":                 {process{stops: limit, waits: []wait{{"network", 22 * millisecond}}}, kinds{waits.Network: 21 * millisecond, waits.CPULimit: 58 * millisecond}},
		"a timer's channel":           {process{stops: limit, waits: []wait{{"select", 22 * millisecond}}}, kinds{waits.Timer: 21 * millisecond, waits.CPULimit: 58 * millisecond}},
		"a system call":               {process{stops: limit, waits: []wait{{"system call", 22 * millisecond}}}, kinds{waits.Syscall: 21 * millisecond, waits.CPULimit: 58 * millisecond}},
		"a wait that outlasts a stop": {process{stops: limit, waits: []wait{{"sleep", 89 * millisecond}}}, kinds{waits.Timer: 89 * millisecond}},
		"a wait after a late wait": {
			process{stops: limit, waits: []wait{{"sleep", 22 * millisecond}, {"sleep", 60 * millisecond}}},
			kinds{waits.Timer: 81 * millisecond, waits.CPULimit: 58 * millisecond},
		},
		"a short stop": {process{stops: []stopped{{22 * millisecond, 27 * millisecond, waits.CPULimit}}, waits: []wait{{"sleep", 22 * millisecond}}}, kinds{waits.Timer: 26 * millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := c.p.run(t)
			got := durations(&r)
			delete(got, waits.OnCPU)
			if fmt.Sprint(got) != fmt.Sprint(map[waits.Kind]time.Duration(c.want)) {
				t.Errorf("causes are %v, want %v", got, c.want)
			}
		})
	}
}

// Code in C is a kind of its own: the trace does not tell whether the code ran. The cause names the function in Go that
// called the code.
func TestCodeInC(t *testing.T) {
	p := process{waits: []wait{{"C code", 60 * millisecond}}}
	r, _ := p.run(t)
	if want := "60 ms of 62 ms: ran or waited in C code, called in (*DB).find"; r.Sentence() != want || r.Causes[0].Kind != waits.CCode {
		t.Errorf("the sentence is %q of kind %v, want %q", r.Sentence(), r.Causes[0].Kind, want)
	}
}

// For any stops and waits, causes add up to the duration. Late times lie in stops that the kernel counts, and they contain
// at least the time from the moment at which a wait was due.
func TestLateWakeUpsOfAnyProcess(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := process{busy: rapid.Bool().Draw(r, "busy")}
		draw := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(r, name)) * millisecond
		}
		for at := draw("first", 1, 50); at < 500*millisecond; at += draw("between", 1, 150) {
			s := stopped{from: at, kind: rapid.SampledFrom([]waits.Kind{waits.Gap, waits.CPULimit, waits.OtherPrograms}).Draw(r, "kind")}
			at += draw("stop", 1, 90)
			s.to = at
			p.stops = append(p.stops, s)
		}
		for range rapid.IntRange(1, 6).Draw(r, "waits") {
			p.waits = append(p.waits, wait{rapid.SampledFrom([]string{"sleep", "network", "select", "system call"}).Draw(r, "reason"), draw("wait", 1, 120)})
		}
		got, ends := p.run(t)
		times, sum := durations(&got), time.Duration(0)
		for _, d := range times {
			sum += d
		}
		if sum != got.Duration {
			r.Errorf("causes have %v, the request %v", sum, got.Duration)
		}
		var least, most time.Duration
		for _, end := range ends {
			for _, s := range p.stops {
				switch {
				case s.to > end.at || end.at > s.to+freeProcessor:
				case s.kind != waits.Gap && s.from <= end.due && end.due < s.to && s.to-s.from > longestSilence:
					least += s.to - end.due
					fallthrough
				default:
					most += s.to - s.from
				}
			}
		}
		// The silence began before the stop. If the notes around have the counts of another stop, these count.
		most += time.Duration(len(p.waits)) * longestSilence
		switch late := times[waits.CPULimit] + times[waits.OtherPrograms]; {
		case !slices.ContainsFunc(p.stops, func(s stopped) bool { return s.kind != waits.Gap }) && late > 0:
			r.Errorf("%v are late without a count", late)
		case late < least || late > most:
			r.Errorf("%v are late, want %v to %v", late, least, most)
		}
	})
}

package analysis_test

import (
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/waits"
)

// A judge is told what is wrong with a result. It is a test, or an attempt of the recorder, which
// makes another one then.
type judge interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// check fails unless intervals are in order and disjoint, the intervals of the serving goroutine
// cover the request, and causes add up to its duration.
func check(j judge, r *waits.Request) {
	j.Helper()
	if len(r.Goroutines) == 0 {
		j.Fatalf("request %q has no goroutine", r.Name)
	}
	var gaps time.Duration
	for n, g := range r.Goroutines {
		var at, sum time.Duration
		for i, interval := range g.Intervals {
			if interval.Start < at || interval.End <= interval.Start || interval.End > r.Duration {
				j.Errorf("goroutine %d: interval %d is [%v, %v), the one before ended at %v, the request at %v",
					n, i, interval.Start, interval.End, at, r.Duration)
			}
			if n == 0 && interval.Start != at {
				j.Errorf("the serving goroutine has a hole from %v to %v", at, interval.Start)
			}
			if n == 0 && interval.Kind == waits.Gap {
				gaps += interval.Duration()
			}
			at = interval.End
			sum += interval.Duration()
		}
		if n == 0 && sum != r.Duration {
			j.Errorf("the serving goroutine's intervals have %v, the request %v", sum, r.Duration)
		}
	}
	var sum time.Duration
	type reading struct {
		kind               waits.Kind
		function, span     string
		by, in, byFunction string
	}
	seen := map[reading]bool{}
	for i, c := range r.Causes {
		read := reading{kind: c.Kind, function: c.Function, span: c.Span}
		if c.By != nil {
			read.by, read.byFunction = c.By.Request, c.By.Function
		}
		if c.In != nil {
			read.in = "of " + c.In.Request
		}
		if seen[read] {
			j.Errorf("cause %d is there twice: %+v", i, c)
		}
		seen[read] = true
		if c.Duration <= 0 || c.Kind == waits.Gap || i > 0 && c.Duration > r.Causes[i-1].Duration {
			j.Errorf("cause %d has %v: want causes in order, longest first", i, c.Duration)
		}
		sum += c.Duration
	}
	if sum+gaps != r.Duration {
		j.Errorf("the causes have %v, the gaps %v, the request %v", sum, gaps, r.Duration)
	}
}

// checkNames fails unless functions have places, and parties are whole.
func checkNames(j judge, r *waits.Request) {
	j.Helper()
	for _, g := range r.Goroutines {
		for _, i := range g.Intervals {
			checkFrames(j, i.Stack)
			checkParty(j, i.By)
		}
	}
	for _, c := range r.Causes {
		checkParty(j, c.By)
		checkParty(j, c.In)
	}
}

func checkParty(j judge, p *waits.Party) {
	j.Helper()
	if p == nil {
		return
	}
	if p.RootID.IsValid() != p.TraceID.IsValid() || p.Goroutine == 0 {
		j.Errorf("party is %+v: want a goroutine, and both ids of a root or none", p)
	}
	checkFrames(j, p.Stack)
}

// checkFrames fails unless each frame has a place. The runtime does not name all of its own frames.
func checkFrames(j judge, stack []waits.Frame) {
	j.Helper()
	for _, f := range stack {
		if f == (waits.Frame{}) {
			continue
		}
		if f.Function == "" || f.File == "" || f.Line <= 0 {
			j.Errorf("frame is %+v, want a function, a file and a line", f)
		}
	}
}

// largest fails unless the request's largest cause is of this kind.
func largest(j judge, r *waits.Request, kind waits.Kind) waits.Cause {
	j.Helper()
	if len(r.Causes) == 0 || r.Causes[0].Kind != kind {
		j.Fatalf("largest cause is %+v, want %v\n%s", r.Causes, kind, r.Sentence())
	}
	return r.Causes[0]
}

// in fails unless the names of both functions are equal without the package.
func in(j judge, got, want string) {
	j.Helper()
	if text.Function(got) != want {
		j.Errorf("function is %q, want %s", got, want)
	}
}

// by fails unless a request had a part in the cause, and returns its function.
func by(j judge, c waits.Cause, request string) string {
	j.Helper()
	if c.By == nil || c.By.Request != request {
		j.Fatalf("%v is by %+v, want %s", c.Kind, c.By, request)
	}
	return c.By.Function
}

// says fails unless the request's sentence has the words.
func says(j judge, r *waits.Request, words string) {
	j.Helper()
	if !strings.Contains(r.Sentence(), words) {
		j.Errorf("sentence is %q, want %q in it", r.Sentence(), words)
	}
}

// cause returns the largest cause of the kind. It fails if there is none.
func cause(j judge, r *waits.Request, kind waits.Kind) waits.Cause {
	j.Helper()
	i := slices.IndexFunc(r.Causes, func(c waits.Cause) bool { return c.Kind == kind })
	if i < 0 {
		j.Fatalf("%v is no cause: %+v", kind, r.Causes)
	}
	return r.Causes[i]
}

// interval returns the longest interval of the kind of a goroutine. It fails if there is none.
func interval(j judge, r *waits.Request, goroutine int, kind waits.Kind) *waits.Interval {
	j.Helper()
	longest := find(r, goroutine, kind)
	if longest == nil {
		j.Fatalf("goroutine %d has no interval of %v", goroutine, kind)
	}
	return longest
}

// find returns the longest interval of the kind of a goroutine, or nil.
func find(r *waits.Request, goroutine int, kind waits.Kind) (longest *waits.Interval) {
	if goroutine >= len(r.Goroutines) {
		return nil
	}
	for i := range r.Goroutines[goroutine].Intervals {
		x := &r.Goroutines[goroutine].Intervals[i]
		if x.Kind == kind && (longest == nil || x.Duration() > longest.Duration()) {
			longest = x
		}
	}
	return longest
}

// goroutines fails unless so many goroutines worked for the request, the serving one among them.
func goroutines(j judge, r *waits.Request, want int) {
	j.Helper()
	if len(r.Goroutines) != want {
		j.Fatalf("%d goroutines worked for the request, want %d", len(r.Goroutines), want)
	}
}

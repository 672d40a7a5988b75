package perfline

import (
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/perfline/perfline/internal/record"
	memory "github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/setup"
)

// A Finding is a fault in the set-up of a program that defeats a feature of perfline.
type Finding struct {
	What   string // the fault and its reason, with numbers, in one or two sentences
	Change string // what to change, with names of functions, fields or variables
}

// Check returns the faults in the set-up that the data in memory show. The most important fault is
// first. A test of the program can call Check after some requests:
//
//	for _, f := range perfline.Check(pl) {
//		t.Errorf("%s %s", f.What, f.Change)
//	}
//
// Check finds these faults:
//
//   - a tracer provider that was set before Start
//   - a tracer provider that was set after Start, if no request has ended in the pipeline
//   - HTTP requests without a route: at least 20 in memory, with different paths
//   - queries, calls, messages and marks without a request, after the first request and outside
//     libraries: at least 20, and a tenth of the number of requests
//   - two instrumentations of the same server or client
//   - requests of the live page or of the agents' tools among the requests
//   - a backend that has accepted nothing
//   - a fixed threshold of slow requests that is more than twice the longest duration, after 1000
//     requests with a waits recorder
//   - spans that lost parts at limits of the program
//
// The live page and the agents' tools show the findings. A [Pipeline] logs each fault once: it
// checks after a minute, after five minutes, and then once an hour.
//
// Names of spans in a Finding are shortened, and invisible characters are codes. Check decodes the
// spans of some requests, at most 1 MiB, which takes some tens of milliseconds at most. Check may
// be called concurrently.
func Check(s Source) []Finding {
	var all []Finding
	for _, f := range check(s) {
		all = append(all, Finding{f.What, f.Change})
	}
	return all
}

func check(s Source) []setup.Finding {
	return setup.Find((*memory.Recent)(s.Recent()), s.Counts(), s.setup())
}

// setup returns the facts of Start, and the provider that replaced the provider of Start. p may be
// nil: a program's own Source may embed a nil Pipeline.
func (p *Pipeline) setup() setup.Start {
	if p == nil {
		return setup.Start{}
	}
	start := p.start
	if p.tracing != nil {
		start.Later = p.tracing.replacedBy(otel.GetTracerProvider())
	}
	return start
}

// A setupLog logs the findings of a pipeline, each once. A timer runs the checks. No goroutine runs
// between two checks.
type setupLog struct {
	source Source
	log    *slog.Logger

	mu      sync.Mutex // guards the fields below
	timer   *time.Timer
	stopped bool
	running sync.WaitGroup

	checks int             // of one goroutine at a time
	logged map[string]bool // rules
}

// checkTimes are the times between the checks of a setupLog. The last time repeats.
var checkTimes = [...]time.Duration{time.Minute, 4 * time.Minute, time.Hour}

func startSetupLog(s Source, log *slog.Logger) *setupLog {
	l := &setupLog{source: s, log: log, logged: map[string]bool{setup.EarlierProvider: true}}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = time.AfterFunc(checkTimes[0], l.check)
	return l
}

func (l *setupLog) check() {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return
	}
	l.running.Add(1)
	l.mu.Unlock()
	defer l.running.Done()
	record.Protect(func() { // the counts of the program's own parts
		for _, f := range check(l.source) {
			if !l.logged[f.Rule] {
				l.logged[f.Rule] = true
				l.log.Warn("perfline: the set-up of the program hides data",
					"what", f.What, "change", f.Change)
			}
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.checks++
	if !l.stopped {
		l.timer.Reset(checkTimes[min(l.checks, len(checkTimes)-1)])
	}
}

// stop ends the checks, and waits for a running check.
func (l *setupLog) stop() {
	l.mu.Lock()
	l.stopped = true
	l.timer.Stop()
	l.mu.Unlock()
	l.running.Wait()
}

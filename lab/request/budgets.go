package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/lab/internal/figures"
)

// The figures that are measured, after the name of a shape or a load and a variant; counts.go has
// those that are counted.
const (
	cpuRatio        = ": CPU time added, × reference"
	cpuRatioSampled = ": CPU time added, × reference with a sampled request"
	cpuRatioAlone   = ": CPU time of the exporter alone, × " + batchedAlone
	cpuRatioBoxed   = ": CPU time of a request with a black box, × without one"
	cpuRatioArmed   = ": CPU time of a request while the waits recorder is armed, × without a recorder"
	samplesRatio    = ": profile samples of telemetry for each of the handler's, × reference"
	bytesAdded      = ": bytes added"
	heapRatio       = ": heap of waiting spans, × BatchSpanProcessor"
	handOver        = ": µs from the handler's return to the middleware's, with the hand-over"
	idleSwitches    = ": voluntary context switches in an idle minute"
)

// A promise is the goal of a figure. A stretch of 0 is none. CI asserts limits, which come down to
// the goals.
type promise struct{ must, stretch float64 }

var promises = map[string]promise{
	// The judge's.
	complete + ", one process, flat out" + cpuRatio:         {0.36, 0.28},
	complete + ", one process, 1000/s" + cpuRatio:           {0.45, 0.3},
	complete + ", one process, flat out" + samplesRatio:     {0.3, 0.22},
	complete + ", one process, 1000/s" + samplesRatio:       {0.4, 0.25},
	complete + ", one process, flat out" + allocationsAdded: {6, 4},
	complete + ", one process, flat out" + bytesAdded:       {1500, 1200},

	// Of handlers that do nothing.
	"http, " + pipelined + cpuRatio:                      {0.2, 0.18},
	"unsampled, " + recordedAndDropped + cpuRatioSampled: {0.12, 0.1},
	"unsampled, " + forgetful + cpuRatioSampled:          {0.08, 0.06},
	"http, " + exported + cpuRatio:                       {0.85, 0.75},
	"http, " + exported + allocationsAdded:               {70, 0},
	"http, " + bridged + cpuRatio:                        {1.1, 1},
	"http, " + both + cpuRatio:                           {0.8, 0.7},
	"http, " + pipelined + handOver:                      {2.5, 1.5},
	"http, " + oursAlone + cpuRatioAlone:                 {0.15, 0},
	"http, " + oursAlone + allocationsOfSpan:             {1, 0},
	oursAlone + heapRatio:                                {0.35, 0.25},
	complete + idleSwitches:                              {20, 12},

	// Spans of other instrumentation.
	"sql, " + pipelined + cpuRatio:        {0.3, 0.25},
	"span, " + ownAlone + cpuRatioSpan:    {0.3, 0.25},
	"unit, " + ownAlone + cpuRatioSpan:    {0.3, 0.2},
	"fan-out, " + ownAlone + cpuRatioSpan: {0.4, 0.25},

	// The armed waits recorder.
	"work, flat out" + cpuRatioBoxed:     {1.02, 1.01},
	"work, 1000/s" + cpuRatioBoxed:       {1.02, 1.01},
	"http, flat out" + cpuRatioArmed:     {1.1, 1.05},
	"http, 1000/s" + cpuRatioArmed:       {1.1, 1.05},
	"outgoing, flat out" + cpuRatioArmed: {1.1, 1.05},
	"outgoing, 1000/s" + cpuRatioArmed:   {1.1, 1.05},
	"sql, flat out" + cpuRatioArmed:      {1.1, 1.05},
	"sql, 1000/s" + cpuRatioArmed:        {1.1, 1.05},

	// Programs.
	pipelined + megabytesAdded: {16.5, 15.5},
	pipelined + modulesLinked:  {24, 0},
}

// A budget is a figure beside its promise and its limit.
type budget struct {
	what   string
	is     float64
	bounds string // between which 95 of 100 measurements find it
}

func ratioBudget(what string, r ratio) budget {
	return budget{what, r.median, twoDigits(r.low) + " … " + twoDigits(r.high)}
}

// row returns "" for a figure that has neither a promise nor a limit.
func (b budget) row() string {
	p, promised := promises[b.what]
	if limits[b.what] == 0 && !promised {
		return ""
	}
	verdict := ""
	if promised {
		verdict = p.verdict(b.is)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", b.what, number(b.is), b.bounds,
		bound(p.must), bound(p.stretch), bound(limits[b.what]), verdict)
}

func (p promise) verdict(is float64) string {
	switch {
	case is <= p.stretch:
		return "stretch met"
	case is <= p.must:
		return "met"
	}
	return "missed"
}

// figure adds the budget to a file of figures. Without a promise it has no goal.
func (b budget) figure(path string) error {
	value := number(b.is)
	if b.bounds != "" {
		value += " (" + b.bounds + ")"
	}
	p, promised := promises[b.what]
	if !promised {
		return figures.Add(path, b.what, "", value, nil)
	}
	met := b.is <= p.must
	return figures.Add(path, b.what, bound(p.must), value, &met)
}

func bound(v float64) string {
	if v == 0 {
		return "–"
	}
	return atMost(v)
}

func atMost(v float64) string { return "≤ " + number(v) }

// number has two digits where they say something.
func number(v float64) string {
	if v < 10 && v != float64(int(v)) {
		return fmt.Sprintf("%.2f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// runBudgets prints the standing budgets of all shapes. The judge and the words counts, sizes and
// waits have those of theirs.
func runBudgets(ctx context.Context, o options) error {
	results, err := diagnose(ctx, o, variants, o.shapes)
	if err != nil {
		return err
	}
	all := diagnosticBudgets(o, results)
	for _, more := range []func(context.Context, options) ([]budget, error){keptBudgets,
		idleBudgets, aloneBudgets, spanBudgets, heapBudgets, handOverBudgets} {
		got, err := more(ctx, o)
		if err != nil {
			return err
		}
		all = append(all, got...)
	}
	fmt.Fprintf(o.out, "%s\n\n| budget | is | 95 %% | must | stretch | limit in CI | |\n|---|---:|---:|---:|---:|---:|---|\n", o.conditions())
	for _, b := range all {
		row := b.row()
		fmt.Fprint(o.out, row)
		if row == "" {
			continue
		}
		if err := b.figure(o.figures); err != nil {
			return err
		}
	}
	return nil
}

// addFigures adds budgets to the file of figures.
func addFigures(o options, all []budget) error {
	for _, b := range all {
		if err := b.figure(o.figures); err != nil {
			return err
		}
	}
	return nil
}

// idleBudgets are of the judge's services, after a few requests.
func idleBudgets(ctx context.Context, o options) (all []budget, err error) {
	o.peers = false
	f, err := startFleet(ctx, o, working, judged)
	defer func() { err = errors.Join(err, f.stop(ctx)) }()
	if err != nil {
		return nil, err
	}
	for _, v := range f.services {
		if _, _, err := v.load(ctx, pacedRate, o.length); err != nil {
			return nil, err
		}
	}
	switches, err := idle(ctx, f.services, o.idle)
	for i, n := range switches {
		all = append(all, budget{f.services[i].name + idleSwitches,
			float64(n) * float64(time.Minute) / float64(o.idle), ""})
	}
	return all, err
}

func handOverBudgets(ctx context.Context, o options) ([]budget, error) {
	took, err := handOverTime(ctx, o)
	return []budget{{shapes[0].name + ", " + pipelined + handOver, took, ""}}, err
}

// handOverTime returns the median time from a handler's return to its middleware's, in
// microseconds. It has the span's last attributes and its End, which hands the request over to all
// outputs of perfline.Start. One goroutine makes the requests.
func handOverTime(ctx context.Context, o options) (float64, error) {
	var took []float64
	timed := func() instrumentation {
		i := native()
		i.handler = func(h http.Handler) http.Handler {
			var returned time.Time
			m := middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				h.ServeHTTP(w, r)
				returned = time.Now()
			}))
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				m.ServeHTTP(w, r)
				took = append(took, float64(time.Since(returned).Nanoseconds())/1e3)
			})
		}
		return i
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	_, err := take(ctx, variant{pipelined, timed, perflineStart(bridge.KeepPolicy{})}, shapes[0],
		o.length, o.burst)
	return median(took), err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/bridge"
)

// The figures that are measured, after the name of a shape and a variant; counts.go has those
// that are counted.
const (
	cpuRatio        = ": CPU time added, × reference"
	cpuRatioServed  = ": CPU time added end to end, × reference"
	cpuRatioPaced   = ": CPU time added end to end at 1000/s, × reference"
	cpuRatioSampled = ": CPU time added, × reference with a sampled request"
	cpuRatioAlone   = ": CPU time of the exporter alone, × " + batchedAlone
	bytesAdded      = ": bytes added"
	heapRatio       = ": heap of waiting spans, × BatchSpanProcessor"
	handOver        = ": µs from the handler's return to the middleware's, with the hand-over"
	idleSwitches    = ": voluntary context switches in an idle minute"
)

// A promise is the goal of a figure. A stretch of 0 is none. CI asserts limits, which come down to the goals.
type promise struct{ must, stretch float64 }

var promises = map[string]promise{
	"http, " + pipelined + cpuRatio:                      {0.25, 0.18},
	"unsampled, " + recordedAndDropped + cpuRatioSampled: {0.15, 0},
	"http, " + pipelined + cpuRatioServed:                {0.35, 0.2},
	"http, " + pipelined + cpuRatioPaced:                 {0.25, 0.1},
	"http, " + pipelined + allocationsAdded:              {12, 9},
	"http, " + pipelined + bytesAdded:                    {4000, 2500},
	"http, " + pipelined + handOver:                      {2.5, 1.5},
	"http, " + exported + cpuRatio:                       {0.85, 0.75},
	"http, " + exported + allocationsAdded:               {70, 0},
	"http, " + bridged + cpuRatio:                        {1.1, 1},
	"http, " + both + cpuRatio:                           {0.95, 0.8},
	"http, " + oursAlone + cpuRatioAlone:                 {0.15, 0},
	"http, " + oursAlone + allocationsOfSpan:             {1, 0},
	oursAlone + heapRatio:                                {0.35, 0.25},
	"unit, " + ownAlone + cpuRatioSpan:                   {0.3, 0.2},
	"fan-out, " + ownAlone + cpuRatioSpan:                {0.4, 0.25},
	"perfline.Start" + megabytesAdded:                    {17.5, 16},
	"perfline.Start" + modulesLinked:                     {32, 25},
	pipelined + idleSwitches:                             {60, 12},
}

// A budget is a figure beside its promise and its limit.
type budget struct {
	what   string
	is     float64
	bounds string // between which 95 of 100 measurements find it
}

func ratioBudget(what string, r ratio) budget {
	return budget{what, r.median, fmt.Sprintf("%.2f … %.2f", r.low, r.high)}
}

// row returns "" for a figure that has neither a promise nor a limit.
func (b budget) row() string {
	p, promised := promises[b.what]
	if limits[b.what] == 0 && !promised {
		return ""
	}
	verdict := ""
	switch {
	case !promised:
	case b.is <= p.stretch:
		verdict = "stretch met"
	case b.is <= p.must:
		verdict = "met"
	default:
		verdict = "missed"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s |\n", b.what, number(b.is), b.bounds, bound(p.must), bound(p.stretch), bound(limits[b.what]), verdict)
}

func bound(v float64) string {
	if v == 0 {
		return "–"
	}
	return "≤ " + number(v)
}

// number has two digits where they say something.
func number(v float64) string {
	if v < 10 && v != float64(int(v)) {
		return fmt.Sprintf("%.2f", v)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
}

// runBudgets prints the standing budgets of all shapes.
func runBudgets(ctx context.Context, o options) error {
	results, err := gate(ctx, o, variants, o.shapes)
	if err != nil {
		return err
	}
	var all []budget
	for k, r := range results {
		for i := 1; i < len(variants); i++ {
			what := o.shapes[k].name + ", " + variants[i].name
			if i > 1 {
				all = append(all, ratioBudget(what+cpuRatio, r.against(i)))
			}
			all = append(all, budget{what + allocationsAdded, median(r.added(i, allocations)), ""}, budget{what + bytesAdded, median(r.added(i, allocated)), ""})
		}
	}
	ended, err := servedBudgets(ctx, o)
	if err != nil {
		return err
	}
	alone, err := aloneBudgets(ctx, o)
	if err != nil {
		return err
	}
	spans, err := spanBudgets(ctx, o)
	if err != nil {
		return err
	}
	waiting, err := heapBudgets(ctx)
	if err != nil {
		return err
	}
	dropped, err := keptBudgets(ctx, o)
	if err != nil {
		return err
	}
	all = slices.Concat(all, dropped, ended, alone, spans, waiting)
	took, err := handOverTime(ctx, o.length)
	if err != nil {
		return err
	}
	all = append(all, budget{shapes[0].name + ", " + pipelined + handOver, took, ""})
	programs, err := sizes(ctx)
	if err != nil {
		return err
	}
	for _, s := range programs {
		all = append(all, budget{s.what + megabytesAdded, s.added, ""}, budget{s.what + modulesLinked, float64(s.modules), ""})
	}
	fmt.Fprintf(o.out, "%s\n\n| budget | is | 95 %% | must | stretch | limit in CI | |\n|---|---:|---:|---:|---:|---:|---|\n", o.conditions())
	for _, b := range all {
		fmt.Fprint(o.out, b.row())
	}
	return nil
}

// servedBudgets are of services in processes of their own, which get requests of the first shape.
func servedBudgets(ctx context.Context, o options) (all []budget, err error) {
	o.peers = false
	services, err := startServices(ctx, o, shapes[0], variants)
	defer func() {
		for _, v := range services {
			err = errors.Join(err, v.stop())
		}
	}()
	if err != nil {
		return nil, err
	}
	loads, err := measure(ctx, o, shapes[0], services, []int{0, 1000})
	if err != nil {
		return nil, err
	}
	for i := 2; i < len(services); i++ {
		what := shapes[0].name + ", " + services[i].name
		all = append(all, ratioBudget(what+cpuRatioServed, loads[0].against(i)), ratioBudget(what+cpuRatioPaced, loads[1].against(i)))
	}
	switches, err := idle(ctx, services, o.idle)
	for i, n := range switches {
		all = append(all, budget{services[i].name + idleSwitches, float64(n) * float64(time.Minute) / float64(o.idle), ""})
	}
	return all, err
}

// handOverTime returns the median time from a handler's return to its middleware's, in microseconds. It has the span's last attributes
// and its End, which hands the request over to all outputs of perfline.Start. One goroutine makes the requests.
func handOverTime(ctx context.Context, length time.Duration) (float64, error) {
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
	_, err := take(ctx, variant{pipelined, timed, perflineStart(bridge.KeepPolicy{})}, shapes[0], length, burst)
	return median(took), err
}

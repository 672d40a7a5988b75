package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// A budget is what the project promised of a figure.
type budget struct {
	what          string
	must, stretch float64 // 0: the figure is reported only
	got           float64
	of            string // bounds of got, or what it is beside
}

func (b *budget) verdict() string {
	switch {
	case b.must == 0:
		return ""
	case b.got <= b.stretch:
		return "stretch met"
	case b.got <= b.must:
		return "met"
	}
	return "missed"
}

// promises are the budgets of the CPU time that variants add, of the reference's.
var promises = map[string]struct{ must, stretch float64 }{
	"http, " + pipelined: {1, 0.25},
	"http, " + bridged:   {1.1, 1},
}

// runBudgets prints the standing budgets, of all shapes.
func runBudgets(ctx context.Context, o options) error {
	runtime.GOMAXPROCS(2)
	results, err := gate(ctx, o, variants, o.shapes)
	if err != nil {
		return err
	}
	var all []budget
	for k, r := range results {
		for i, v := range variants[1:] {
			i++
			what := o.shapes[k].name + ", " + v.name
			if i > 1 {
				a, promised := r.against(i), promises[what]
				all = append(all, budget{what + ": CPU time added, × reference", promised.must, promised.stretch, a.median, fmt.Sprintf("%.2f … %.2f", a.low, a.high)})
			}
			all = append(all,
				budget{what: what + allocationsAdded, must: limits[what+allocationsAdded], got: median(r.added(i, allocations))},
				budget{what: what + ": bytes added", got: median(r.added(i, allocated))})
		}
	}
	programs, err := sizes(ctx)
	if err != nil {
		return err
	}
	for _, s := range programs {
		all = append(all, budget{what: s.what + megabytesAdded, must: limits[s.what+megabytesAdded], got: s.added},
			budget{what: s.what + modulesLinked, must: limits[s.what+modulesLinked], got: float64(s.modules)})
	}
	services, err := startServices(ctx, o, shapes[0])
	if err != nil {
		return err
	}
	switches, err := idle(ctx, services, o.idle)
	if err != nil {
		return err
	}
	for i, v := range services {
		all = append(all, budget{what: fmt.Sprintf("%s, idle for %v: voluntary context switches", v.name, o.idle), got: float64(switches[i])})
		if err := v.stop(); err != nil {
			return err
		}
	}
	fmt.Println(o.conditions())
	fmt.Print("\n", budgetTable(slices.Values(all)))
	return nil
}

func budgetTable(all func(func(budget) bool)) string {
	var b strings.Builder
	b.WriteString("| budget | must | stretch | is | 95 % | |\n|---|---:|---:|---:|---:|---|\n")
	for l := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %.4g | %s | %s |\n", l.what, bound(l.must), bound(l.stretch), l.got, l.of, l.verdict())
	}
	return b.String()
}

func bound(v float64) string {
	if v == 0 {
		return "–"
	}
	return fmt.Sprintf("≤ %.4g", v)
}

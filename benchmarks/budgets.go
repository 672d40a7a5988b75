package main

import (
	"fmt"
	"slices"
	"strings"
)

// A budget is what the project promised itself of one figure. It is computed in
// each round by itself, so that what drifts between rounds drops out.
type budget struct {
	what          string
	must, stretch float64
	unit          string
	atLeast       bool // the figure says how many times cheaper: more is better
	figure        func(round int) float64
}

func (b *budget) within(got, bound float64) bool {
	if b.atLeast {
		return got >= bound
	}
	return got <= bound
}

func (b *budget) verdict(got float64) string {
	switch {
	case b.within(got, b.stretch):
		return "stretch met"
	case b.within(got, b.must):
		return "met"
	}
	return "missed"
}

// budgets holds the results of all rows against what was promised.
func budgets(rows []*row) string {
	const ours, theirs, alone = "perfline, with the request's timeline", "OpenTelemetry", "the span alone"
	caller := func(group, name string) func(int) float64 {
		r := find(rows, group, name)
		return func(round int) float64 { return r.samples[round].caller }
	}
	ratio := func(a, b func(int) float64) func(int) float64 {
		return func(round int) float64 { return a(round) / b(round) }
	}
	request := func(what, rate string) func(int) float64 { return caller(requestGroup, requestName(what, rate)) }
	added := func(what, rate string) func(int) float64 {
		whole, span := request(what, rate), request(alone, rate)
		return func(round int) float64 { return whole(round) - span(round) }
	}
	cpu := func(what string) func(int) float64 {
		r := find(rows, requestGroup, requestName(what, "100 %"))
		return func(round int) float64 { return r.samples[round].cpu }
	}
	fivePlusThree := func(mark, measure string) func(int) float64 {
		a, b := caller(otelGroup, mark), caller(otelGroup, measure)
		return func(round int) float64 { return 5*a(round) + 3*b(round) }
	}
	mark := caller(otelGroup, "perfline `Mark`, 2 attributes, depth 5")
	addEvent := caller(otelGroup, "OpenTelemetry `AddEvent`, 2 attributes, depth 5")
	measure := caller(otelGroup, "perfline `Time…End`, 2 attributes")
	span := caller(otelGroup, "OpenTelemetry `Start`/`End`, 2 attributes")

	// What a middleware adds to the mux and handler it wraps.
	middleware := func(of func(sample) float64, way string, measures bool, rate string) func(int) float64 {
		bare, r := find(rows, httpGroup, noHTTP), find(rows, httpGroup, httpName(way, measures, rate))
		return func(round int) float64 { return of(r.samples[round]) - of(bare.samples[round]) }
	}
	against := func(of func(sample) float64, way string, measures bool, rate string) func(int) float64 {
		return ratio(middleware(of, way, measures, rate), middleware(of, theirHTTP, measures, rate))
	}
	time := func(s sample) float64 { return s.caller }
	allocs := func(s sample) float64 { return s.allocs }

	// The time that labels take, of that of plain spans.
	labels := func(with, without, plain string) func(int) float64 {
		return func(round int) float64 {
			at := func(name string) float64 { return find(rows, labelGroup, name).samples[round].caller }
			return (at(with) - at(without)) / at(plain)
		}
	}

	all := []budget{
		{"`Mark`, no attributes, 1 core", 1, 0.7, "T", false, caller(timelineGroup, "`Mark`, 0 attributes, 1 goroutine")},
		{"`Mark`, no attributes, 2 cores at once", 1.3, 0.7, "T", false, caller(timelineGroup, "`Mark`, 0 attributes, 2 goroutines at once")},
		{"`Mark`, 2 attributes, under a span, depth 5", 1.5, 1.15, "T", false, mark},
		{"`Time…End`", 2.2, 1.7, "T", false, caller(timelineGroup, "`Time…End`, 1 goroutine")},
		{"`Mark` against `AddEvent`, 2 attributes", 8, 12, "× cheaper", true, ratio(addEvent, mark)},
		{"`Time…End` against `Start`/`End`, 2 attributes", 12, 20, "× cheaper", true, ratio(span, measure)},
		{"a request's 5 marks and 3 measures, time added, against OpenTelemetry", 20, 40, "× less", true, ratio(added(theirs, "100 %"), added(ours, "100 %"))},
		{"the same, CPU in all up to marshalled OTLP", 0.6, 0.45, "×", false, ratio(cpu(ours), cpu(theirs))},
		{"unsampled, 5 marks and 3 measures, against gated OpenTelemetry", 0.35, 0.2, "×", false, ratio(
			fivePlusThree("perfline `Mark`, unsampled", "perfline `Time…End`, unsampled"),
			fivePlusThree("OpenTelemetry `AddEvent` if `IsRecording`, unsampled", "OpenTelemetry `Start`/`End`, unsampled"))},
		{"the same with making the request's timeline", 0.35, 0.2, "×", false, ratio(added(ours, "0 %"), added(theirs, "0 %"))},
		{"labels of a span while a session samples, against a plain span", 0.3, 0.1, "×", false, labels(labelled, unlabelled, plainSpan)},
		{"the same under a local root, while a session samples those only", 0.3, 0.1, "×", false, labels(rootsOnly, unlabelled, plainSpan)},
		{"the same on average over a request with four spans under its local root", 0.3, 0.1, "×", false, labels(rootsRequest, unlabelledRequest, plainRequest)},
		{"the same while a session samples every span", 0.3, 0.1, "×", false, labels(labelledRequest, unlabelledRequest, plainRequest)},
		{"middleware's time against otelhttp's, sampled", 0.6, 0.4, "×", false, against(time, ourHTTP, false, "100 %")},
		{"the same, unsampled", 0.6, 0.4, "×", false, against(time, ourHTTP, false, "0 %")},
		{"the same with 3 measures, sampled", 0.6, 0.4, "×", false, against(time, ourHTTP, true, "100 %")},
		{"the same with 3 measures, unsampled", 0.6, 0.4, "×", false, against(time, ourHTTP, true, "0 %")},
		{"the same with the metrics of body sizes, as otelhttp, sampled", 0.6, 0.4, "×", false, against(time, ourHTTPSizes, false, "100 %")},
		{"the same, unsampled", 0.6, 0.4, "×", false, against(time, ourHTTPSizes, false, "0 %")},
		{"middleware's allocations against otelhttp's, sampled", 0.5, 0.4, "×", false, against(allocs, ourHTTP, false, "100 %")},
		{"the same, unsampled", 0.5, 0.4, "×", false, against(allocs, ourHTTP, false, "0 %")},
	}
	var b strings.Builder
	b.WriteString("| budget | must | stretch | median | of the rounds | |\n|---|---:|---:|---:|---:|---|\n")
	for _, l := range all {
		var got []float64
		for round := range find(rows, timelineGroup, "`time.Now()`").samples {
			got = append(got, l.figure(round))
		}
		median := middle(got)
		sign := "≤"
		if l.atLeast {
			sign = "≥"
		}
		fmt.Fprintf(&b, "| %s | %s %.2f %s | %.2f | %.2f | %.2f … %.2f | %s |\n",
			l.what, sign, l.must, l.unit, l.stretch, median, slices.Min(got), slices.Max(got), l.verdict(median))
	}
	return b.String()
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perfline/perfline/lab/internal/figures"
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

// budgets holds the results of all rows against what was promised. It adds them to a file of
// figures.
func budgets(rows []*row, figuresInto string) (string, error) {
	caller := func(group, name string) func(int) float64 {
		r := find(rows, group, name)
		return func(round int) float64 { return r.samples[round].caller }
	}
	ratio := func(a, b func(int) float64) func(int) float64 {
		return func(round int) float64 { return a(round) / b(round) }
	}
	fivePlusThree := func(mark, measure string) func(int) float64 {
		a, b := caller(otelGroup, mark), caller(otelGroup, measure)
		return func(round int) float64 { return 5*a(round) + 3*b(round) }
	}
	// The time of labels as a share of the time of plain spans.
	labels := func(with, without, plain string) func(int) float64 {
		return func(round int) float64 {
			at := func(name string) float64 {
				return find(rows, labelGroup,
					name).samples[round].caller
			}
			return (at(with) - at(without)) / at(plain)
		}
	}

	all := []budget{
		{"`Mark`, 2 attributes, depth 5", 1.7, 1.3, "T", false,
			caller(otelGroup, "perfline `Mark`, 2 attributes, depth 5")},
		{"`Time…End`", 2, 1.7, "T", false, caller(otelGroup, "perfline `Time…End`")},
		{"5 marks and 3 measures of 2 attributes, against `AddEvent` and `Start`/`End`", 8, 12,
			"× cheaper", true, ratio(
				fivePlusThree("OpenTelemetry `AddEvent`, 2 attributes, depth 5",
					"OpenTelemetry `Start`/`End`, 2 attributes"),
				fivePlusThree("perfline `Mark`, 2 attributes, depth 5",
					"perfline `Time…End`, 2 attributes"))},
		{"unsampled, 5 marks and 3 measures, against gated OpenTelemetry", 0.35, 0.2, "×", false,
			ratio(
				fivePlusThree("perfline `Mark`, unsampled", "perfline `Time…End`, unsampled"),
				fivePlusThree("OpenTelemetry `AddEvent` if `IsRecording`, unsampled",
					"OpenTelemetry `Start`/`End`, unsampled"))},
		{"labels of a span while a session samples, against a plain span", 0.3, 0.1, "×", false,
			labels(labelled, unlabelled, plainSpan)},
		{"the same under a local root, while a session samples those only", 0.3, 0.1, "×", false,
			labels(rootsOnly, unlabelled, plainSpan)},
		{"the same on average over a request with four spans under its local root", 0.3, 0.1, "×",
			false, labels(rootsRequest, unlabelledRequest, plainRequest)},
		{"the same while a session samples every span", 0.3, 0.1, "×", false,
			labels(labelledRequest, unlabelledRequest, plainRequest)},
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
			l.what, sign, l.must, l.unit, l.stretch, median, slices.Min(got), slices.Max(got),
			l.verdict(median))
		met := l.within(median, l.must)
		if err := figures.Add(figuresInto, l.what, fmt.Sprintf("%s %.2f %s", sign, l.must, l.unit),
			fmt.Sprintf("%.2f (%.2f … %.2f)", median, slices.Min(got), slices.Max(got)),
			&met); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

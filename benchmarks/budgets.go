package main

import (
	"fmt"
	"strings"
)

// budgets holds the results against what the project promised itself. must and
// stretch are upper bounds, but of ratios that say "cheaper", where they are lower.
func budgets(rows []*row) string {
	timeline := func(name string) *row { return find(rows, timelineGroup, name) }
	otel := func(name string) *row { return find(rows, otelGroup, name) }
	request := func(what, rate string) *row { return find(rows, requestGroup, requestName(what, rate)) }
	const ours, theirs, empty = "perfline, with the request's timeline", "OpenTelemetry", "the span alone"
	added := func(what, rate string) float64 { return request(what, rate).caller() - request(empty, rate).caller() }
	fivePlusThree := func(mark, measure string) float64 { return 5*otel(mark).caller() + 3*otel(measure).caller() }

	var b strings.Builder
	b.WriteString("| budget | must | stretch | this run | |\n|---|---:|---:|---:|---|\n")
	line := func(what string, must, stretch, got float64, unit string, atLeast bool) {
		verdict := "missed"
		within := func(bound float64) bool {
			if atLeast {
				return got >= bound
			}
			return got <= bound
		}
		switch {
		case within(stretch):
			verdict = "stretch met"
		case within(must):
			verdict = "met"
		}
		sign := "≤"
		if atLeast {
			sign = "≥"
		}
		fmt.Fprintf(&b, "| %s | %s %.2f %s | %.2f | %.2f | %s |\n", what, sign, must, unit, stretch, got, verdict)
	}
	line("`Mark`, no attributes, 1 core", 1, 0.7, timeline("`Mark`, 0 attributes, 1 goroutine").caller(), "T", false)
	line("`Mark`, no attributes, 2 cores at once", 1.3, 0.7, timeline("`Mark`, 0 attributes, 2 goroutines at once").caller(), "T", false)
	line("`Mark`, 2 attributes, under a span, depth 5", 1.5, 1.15, otel("perfline `Mark`, 2 attributes, depth 5").caller(), "T", false)
	line("`Time…End`", 2.2, 1.7, timeline("`Time…End`, 1 goroutine").caller(), "T", false)
	line("`Mark` against `AddEvent`, 2 attributes", 8, 12,
		otel("OpenTelemetry `AddEvent`, 2 attributes, depth 5").caller()/otel("perfline `Mark`, 2 attributes, depth 5").caller(), "× cheaper", true)
	line("`Time…End` against `Start`/`End`, 2 attributes", 12, 20,
		otel("OpenTelemetry `Start`/`End`, 2 attributes").caller()/otel("perfline `Time…End`, 2 attributes").caller(), "× cheaper", true)
	line("a request's 5 marks and 3 measures, time added, against OpenTelemetry", 20, 40,
		added(theirs, "100 %")/added(ours, "100 %"), "× less", true)
	line("the same, CPU in all up to marshalled OTLP", 0.6, 0.45, request(ours, "100 %").cpu()/request(theirs, "100 %").cpu(), "×", false)
	line("unsampled, 5 marks and 3 measures, against gated OpenTelemetry", 0.35, 0.2,
		fivePlusThree("perfline `Mark`, unsampled", "perfline `Time…End`, unsampled")/
			fivePlusThree("OpenTelemetry `AddEvent` if `IsRecording`, unsampled", "OpenTelemetry `Start`/`End`, unsampled"), "×", false)
	line("the same with making the request's timeline", 0.35, 0.2, added(ours, "0 %")/added(theirs, "0 %"), "×", false)
	return b.String()
}

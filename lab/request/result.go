package main

import (
	"fmt"
	"strings"
)

// A result is all samples of a shape, by variant and round. The first variant has no telemetry,
// and the second is the reference.
type result struct {
	title   string
	names   []string
	samples [][]sample
}

// values returns one figure of a variant, round by round.
func (r *result) values(variant int, of func(sample) float64) []float64 {
	values := make([]float64, len(r.samples[variant]))
	for i, s := range r.samples[variant] {
		values[i] = of(s)
	}
	return values
}

// added returns what a variant adds to the first one, round by round.
func (r *result) added(variant int, of func(sample) float64) []float64 {
	return differences(r.values(variant, of), r.values(0, of))
}

// against compares the CPU time that a variant adds with the reference's.
func (r *result) against(variant int) ratio { return r.over(variant, 1) }

// over compares the CPU time that two variants add.
func (r *result) over(variant, beside int) ratio {
	return ratioOf(r.added(variant, cpuTime), r.added(beside, cpuTime))
}

func cpuTime(s sample) float64     { return s.cpu }
func allocations(s sample) float64 { return s.allocations }
func allocated(s sample) float64   { return s.bytes }
func collections(s sample) float64 { return s.collections }

// encodedBytes are the bytes of the requests to the receiver, of spans and log records.
func encodedBytes(s sample) float64 { return s.wire }

// addedTime is three cells: the CPU time that a variant adds, how many times the reference's, and
// the bounds.
func (r *result) addedTime(variant int) string {
	if variant == 0 {
		return "– | – | –"
	}
	added := median(r.added(variant, cpuTime)) / 1e3
	if variant == 1 {
		return fmt.Sprintf("%.2f µs | 1 | –", added)
	}
	a := r.against(variant)
	return fmt.Sprintf("%.2f µs | %.2f | %.2f … %.2f", added, a.median, a.low, a.high)
}

// table has a row for each variant: what it adds to the first one.
func (r *result) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| **%s** | CPU | added | × reference | 95 %% | allocations added | bytes added | collections in 1000 |\n", r.title)
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for i, name := range r.names {
		fmt.Fprintf(&b, "| %s | %.2f µs | %s |", name, median(r.values(i, cpuTime))/1e3,
			r.addedTime(i))
		format, of := " %.1f | %.0f |", r.added
		if i == 0 {
			format, of = " (%.1f) | (%.0f) |", r.values
		}
		fmt.Fprintf(&b, format, median(of(i, allocations)), median(of(i, allocated)))
		fmt.Fprintf(&b, " %.2f |\n", 1e3*mean(r.values(i, collections)))
	}
	return b.String()
}

package main

import (
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/perfline/perfline/internal/document"
)

// judgeConditions says what the judge's tables were measured with.
func (o options) judgeConditions() string {
	busy := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load := strings.Fields(string(text)); len(load) > 0 {
			busy = fmt.Sprintf("; the machine's load average was %s before", load[0])
		}
	}
	return fmt.Sprintf("%s, GOMAXPROCS=%d, %d rounds of %v in an order of seed %d%s. On both sides: no metrics, as without a variable; "+
		"propagators: tracecontext, baggage; resource: the attributes that perfline.Start detects; OTLP over gRPC to another process, not compressed; "+
		"batches of 512 spans, a queue of %d, and no span was lost.",
		document.Machine(), o.procs, o.rounds, o.length, o.seed, busy, queueSize)
}

// sharesAgainst compares the profile samples of a variant with those of the reference. It returns
// false if there are no profiles of the variant.
func (l *judgedLoad) sharesAgainst(variant int) (ratio, bool) {
	if l.shares == nil || len(l.shares[variant]) == 0 {
		return ratio{}, false
	}
	return ratioOfSums(l.shares[variant], l.shares[1], tally.plus, tally.ratio), true
}

// table has a row for each variant: what it adds to the first one.
func (l *judgedLoad) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| **%s** | CPU | added | × reference | 95 %% | samples × reference | 95 %% | allocations added | bytes added | bytes on the wire |\n", l.loadTitle())
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n")
	for i, name := range l.names {
		fmt.Fprintf(&b, "| %s | %.1f µs | %s |", name, median(l.values(i, cpuTime))/1e3,
			l.addedTime(i))
		shares, ok := l.sharesAgainst(i)
		switch {
		case !ok:
			b.WriteString(" – | – |")
		case i == 1:
			b.WriteString(" 1 | – |")
		default:
			fmt.Fprintf(&b, " %s | %s … %s |", twoDigits(shares.median), twoDigits(shares.low),
				twoDigits(shares.high))
		}
		format, of := " %.1f | %.0f |", l.added
		if i == 0 {
			format, of = " (%.1f) | (%.0f) |", l.values
		}
		fmt.Fprintf(&b, format, median(of(i, allocations)), median(of(i, allocated)))
		fmt.Fprintf(&b, " %.0f |\n", median(l.values(i, encodedBytes)))
	}
	return b.String()
}

// twoDigits is a dash for what too few samples do not say.
func twoDigits(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return fmt.Sprintf("%.2f", v)
}

// judgeBudgets are the judge's figures. All but those of the README's program have no promise.
func judgeBudgets(loads []*judgedLoad) (all []budget) {
	for _, l := range loads {
		for i := 2; i < len(l.names); i++ {
			what := l.names[i] + ", " + l.name()
			all = append(all, ratioBudget(what+cpuRatio, l.against(i)))
			if shares, ok := l.sharesAgainst(i); ok {
				all = append(all, ratioBudget(what+samplesRatio, shares))
			}
			if l == loads[0] {
				all = append(all, budget{what + allocationsAdded, median(l.added(i, allocations)),
					""}, budget{what + bytesAdded, median(l.added(i, allocated)), ""})
			}
		}
	}
	return all
}

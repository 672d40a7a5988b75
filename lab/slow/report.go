package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perfline/perfline/integration/load"
	"github.com/perfline/perfline/internal/document"
)

// count returns how many runs of a series have a property.
func (s *series) count(has func(verdict) bool) (n int) {
	for _, r := range s.runs {
		if has(r.verdict) {
			n++
		}
	}
	return n
}

// larger returns the part of a run that takes most of the time.
func (r run) larger() part {
	return slices.MaxFunc(r.parts, func(a, b part) int { return int(a.takes - b.takes) })
}

// holders returns how many sentences should name a holder, and how many do that rightly.
func (s *series) holders() (right, of int) {
	for _, r := range s.runs {
		if r.larger().cause.holder == nil {
			continue
		}
		of++
		if r.verdict.holder {
			right++
		}
	}
	return right, of
}

// explained returns the median of the share of the time that the results give to the right causes.
func (s *series) explained() float64 {
	var shares []float64
	for _, r := range s.runs {
		shares = append(shares, r.verdict.explained)
	}
	slices.Sort(shares)
	return load.Quantile(shares, 0.5)
}

// causesText is the table of causes.
func causesText(o options) string {
	var b strings.Builder
	right, all, gaps, disturbed := 0, 0, 0, 0
	worst := 0.0
	for i := range o.series {
		s := &o.series[i]
		right += s.count(verdict.right)
		all += len(s.runs)
		disturbed += len(s.disturbed)
		for _, r := range s.runs {
			if r.Gaps > 0 {
				gaps++
			}
			if r.Wall > 0 {
				worst = max(worst, float64((r.Sum-r.Wall).Abs())/float64(r.Wall))
			}
		}
	}
	fmt.Fprintf(&b, "Measured on %s, with %d requests a second on another route. The larger cause takes %v, and the smaller one of a pair %v. ", document.Machine(), backgroundRate, large, little)
	fmt.Fprintf(&b, "%d of %d sentences are right (%s). The states of the serving goroutine differ from the root span's time by %.2f %% at most. %d results have a gap. %d requests do not count: other programs took the processors, or the larger part was not larger.",
		right, all, percent(right, all), 100*worst, gaps, disturbed)
	if n := o.notRun(); n > 0 {
		fmt.Fprintf(&b, " %d series are NOT RUN.", n)
	}
	b.WriteString("\n\n")
	for pair, head := range []string{
		"| cause | right cause | right holder | time explained |\n|---|---:|---:|---:|\n",
		"\n| two causes | larger one first | right holder | both named | time explained |\n|---|---:|---:|---:|---:|\n",
	} {
		begun := false
		for i := range o.series {
			s := &o.series[i]
			if len(s.causes) != pair+1 {
				continue
			}
			if !begun {
				b.WriteString(head)
				begun = true
			}
			if s.notRun != "" {
				fmt.Fprintf(&b, "| %s | NOT RUN: %s |%s\n", s.title(), s.notRun,
					strings.Repeat(" "+none+" |", 2+pair))
				continue
			}
			holder := none
			if n, of := s.holders(); of > 0 {
				holder = fmt.Sprintf("%d of %d", n, of)
			}
			fmt.Fprintf(&b, "| %s | %d of %d | %s |", s.title(),
				s.count(func(v verdict) bool { return v.cause }), len(s.runs), holder)
			if pair > 0 {
				fmt.Fprintf(&b, " %d of %d |", s.count(func(v verdict) bool { return v.both }),
					len(s.runs))
			}
			fmt.Fprintf(&b, " %.0f %% |\n", 100*s.explained())
		}
	}
	return b.String()
}

// percent is a share as tables have it.
func percent(n, of int) string {
	if of == 0 {
		return none
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}

// agentText is the table of what an agent found.
func agentText(o options) string {
	var b strings.Builder
	right, all := 0, 0
	var rows strings.Builder
	for i := range o.series {
		s := &o.series[i]
		if s.notRun != "" {
			fmt.Fprintf(&rows, "| %s | NOT RUN | %s |\n", s.title(), s.notRun)
			continue
		}
		n := s.count(verdict.right)
		right, all = right+n, all+len(s.runs)
		example := none
		if at := slices.IndexFunc(s.runs, func(r run) bool { return r.verdict.right() }); at >= 0 {
			example = "`" + s.runs[at].Sentence + "`"
		}
		fmt.Fprintf(&rows, "| %s | %d of %d | %s |\n", s.title(), n, len(s.runs), example)
	}
	fmt.Fprintf(&b, "Measured on %s. The client found the cause of %d of %d slow requests, each with three calls.\n\n", document.Machine(), right, all)
	b.WriteString("| cause | found | an answer |\n|---|---:|---|\n" + rows.String())
	return b.String()
}

// none is in a table where there is no figure.
const none = "–"

// examplesText has a sentence and a waterfall of each single cause.
func examplesText(o options) string {
	var b strings.Builder
	for i := range o.series {
		s := &o.series[i]
		if len(s.causes) > 1 {
			continue
		}
		at := slices.IndexFunc(s.runs, func(r run) bool { return r.verdict.right() })
		if at < 0 {
			continue
		}
		r := s.runs[at]
		title := s.title()
		fmt.Fprintf(&b, "%s%s: %s\n\n```text\n%s```\n\n", strings.ToUpper(title[:1]), title[1:],
			r.Sentence, r.Waterfall)
	}
	return b.String()
}

// shortText has the sentence and the waterfall of each request.
func shortText(o options) string {
	var b strings.Builder
	for i := range o.series {
		if o.series[i].notRun != "" {
			fmt.Fprintf(&b, "%s: NOT RUN: %s\n\n", o.series[i].name(), o.series[i].notRun)
		}
		for _, r := range o.series[i].runs {
			fmt.Fprintf(&b, "%s: %s\n\n```text\n%s```\n\n", o.series[i].name(), r.Sentence,
				r.Waterfall)
		}
	}
	return b.String()
}

// milliseconds is d as tables have it.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.1f ms", d.Seconds()*1e3) }

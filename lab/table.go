package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/document"
)

// table has a row for each figure, and one for each experiment without figures. An experiment that
// failed has a row that says so.
func table(results []result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s.\n\n", document.Machine())
	b.WriteString("| experiment | figure | goal | measured | result |\n|---|---|---:|---:|---|\n")
	for _, r := range results {
		if r.err != nil {
			row(&b, r.name, "runs to its end", "yes", firstLine(r.err), "**failed**")
		} else if len(r.figures) == 0 {
			row(&b, r.name, "runs to its end", "yes", "yes", "met")
		}
		for _, f := range r.figures {
			verdict := f.Result
			if verdict == "missed" {
				verdict = "**missed**"
			}
			row(&b, r.name, f.Name, f.Goal, f.Value, verdict)
		}
	}
	b.WriteString("\n" + times(results))
	return b.String()
}

func row(b *strings.Builder, cells ...string) {
	for _, c := range cells {
		fmt.Fprintf(b, "| %s ", strings.ReplaceAll(c, "|", `\|`))
	}
	b.WriteString("|\n")
}

// firstLine is the first line of an error's text, cut to a cell's length.
func firstLine(err error) string {
	const longest = 200
	text, _, _ := strings.Cut(err.Error(), "\n")
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
	}
	return text
}

// times says how long the experiments took, and how much CPU time their commands used.
func times(results []result) string {
	var all []string
	var took, cpu time.Duration
	for _, r := range results {
		all = append(all, fmt.Sprintf("%s %.0f s (%.0f s)", r.name, r.took.Seconds(),
			r.cpu.Seconds()))
		took, cpu = took+r.took, cpu+r.cpu
	}
	return fmt.Sprintf("Times (CPU): %s; together %.0f s (%.0f s).\n", strings.Join(all, ", "),
		took.Seconds(), cpu.Seconds())
}

package requests

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/profiling/states"
)

const (
	notable        = 10 // a tenth of the difference: what a second cause, or the opposite of the first, must have for the sentence
	spanInSentence = 80 // characters
)

// Sentence says in one sentence where the difference is, such as "9.1 ms of the 12 ms more were in sql.conn.query (11 instead of
// 1)". It has the span with the largest difference on the critical path, and the next one if that has a tenth of the whole difference or
// more. If the first is larger than the whole by a tenth or more, the rest has the opposite sign, and the sentence has that, too. The
// names in it are shortened, but not escaped. Code that prints the sentence escapes it.
func (c Comparison) Sentence() string {
	took := c.Took()
	if took.Abs()*100 <= max(c.Slow.Duration(), c.Usual.Duration()) {
		return fmt.Sprintf("both took about %s", states.Length(c.Slow.Duration()))
	}
	direction := "more"
	if took < 0 {
		direction = "less"
	}
	whole := states.Length(took.Abs()) + " " + direction
	var parts []SpanDifference // with the same direction as the whole
	for _, d := range c.Spans {
		if (d.Critical() > 0) == (took > 0) && d.Critical().Abs()*notable >= took.Abs() {
			parts = append(parts, d)
		}
	}
	if len(parts) == 0 {
		return "the " + whole + " were in many spans, a little in each"
	}
	first := parts[0]
	in := first.Critical().Abs()
	if (in-took.Abs())*notable >= took.Abs() {
		return whole + " in all: " + states.Length(in) + " " + direction + " in " + c.describe(first) + ", the opposite elsewhere"
	}
	var b strings.Builder
	b.WriteString(states.Length(min(in, took.Abs())) + " of the " + whole + " were in " + c.describe(first))
	if len(parts) > 1 {
		b.WriteString("; " + states.Length(parts[1].Critical().Abs()) + " were in " + c.describe(parts[1]))
	}
	return b.String()
}

// describe names a span, with the numbers of both sides if they differ.
func (c Comparison) describe(d SpanDifference) string {
	name := atMost(d.Name, spanInSentence)
	if d.Depth == 0 {
		name += " itself, in no span below it"
	}
	switch {
	case d.Slow.Count == d.Usual.Count:
		return name
	case d.Usual.Count == 0:
		return fmt.Sprintf("%s (%d instead of none)", name, d.Slow.Count)
	case d.Slow.Count == 0:
		return fmt.Sprintf("%s (none instead of %d)", name, d.Usual.Count)
	}
	return fmt.Sprintf("%s (%d instead of %d)", name, d.Slow.Count, d.Usual.Count)
}

// The measures of a comparison's text, in characters and in rows.
const (
	compareName = 46 // the names' column
	mostSpans   = 30
	mostRows    = 12 // of states and of functions
)

// WriteText prints the comparison as text of 100 columns: the sentence, both requests, and tables of spans, states and functions, the
// largest differences first. There are 30 spans, 12 states and 12 functions at most, and counts of the rest. Names are escaped: they may
// come from outside.
func (c Comparison) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, atMost(text.Escape(c.Sentence(), ""), maxSentence))
	fmt.Fprintf(b, "slow:  %s\nusual: %s\n", c.Slow.header(), c.Usual.header())
	row := func(name, difference, slow, usual, total, count string) {
		line := fmt.Sprintf("%s %10s %10s %10s %10s %9s", fit(name, compareName), difference, slow, usual, total, count)
		fmt.Fprintln(b, strings.TrimRight(line, " "))
	}
	fmt.Fprintln(b)
	row("spans, on the critical path", "difference", "slow", "usual", "total ±", "count")
	byPlace := make([]int, len(c.Spans))
	for i, d := range c.Spans {
		byPlace[d.Place] = i
	}
	for _, d := range c.Spans[:min(mostSpans, len(c.Spans))] {
		row(c.path(d, byPlace), signed(d.Critical()), text.Duration(d.Slow.Critical), text.Duration(d.Usual.Critical), signed(d.Total()), fmt.Sprintf("%d | %d", d.Slow.Count, d.Usual.Count))
	}
	more(b, len(c.Spans)-mostSpans, "spans")
	if len(c.States) > 0 {
		fmt.Fprintln(b)
		row("states", "difference", "slow", "usual", "", "")
		for _, d := range c.States[:min(mostRows, len(c.States))] {
			c.side(row, d.Kind.String(), d.Slow, d.Usual, c.SlowStates, c.UsualStates)
		}
		more(b, len(c.States)-mostRows, "states")
	}
	if len(c.Functions) > 0 {
		fmt.Fprintln(b)
		row(fmt.Sprintf("functions, by %d | %d samples", c.SlowSamples, c.UsualSamples), "difference", "slow", "usual", "", "")
		for _, d := range c.Functions[:min(mostRows, len(c.Functions))] {
			name := shortFunction(d.Name)
			if d.Waits {
				name += " (waits)"
			}
			c.side(row, name, d.Slow, d.Usual, c.SlowSamples > 0, c.UsualSamples > 0)
		}
		more(b, len(c.Functions)-mostRows, "functions")
	}
	if c.OtherEngine {
		fmt.Fprintln(b, "\nThe samples are of CPU time and of wall-clock time, which cannot be compared.")
	}
	return b.Flush()
}

// side prints the times of both sides, and the difference if both are known.
func (c Comparison) side(row func(name, difference, slow, usual, total, count string), name string, slow, usual time.Duration, knowsSlow, knowsUsual bool) {
	known := func(d time.Duration, ok bool) string {
		if !ok {
			return "unknown"
		}
		return text.Duration(d)
	}
	difference := ""
	if knowsSlow && knowsUsual {
		difference = signed(slow - usual)
	}
	row(name, difference, known(slow, knowsSlow), known(usual, knowsUsual), "", "")
}

func more(b *bufio.Writer, n int, what string) {
	if n > 0 {
		fmt.Fprintf(b, "… and %d more %s\n", n, what)
	}
}

// signed returns a difference with its sign.
func signed(d time.Duration) string {
	if d > 0 {
		return "+" + text.Duration(d)
	}
	return text.Duration(d)
}

// path returns the name of a span with the names of the three spans above it, without the root's. It is at most compareName wide: the
// beginning of a longer one is left out.
func (c Comparison) path(d SpanDifference, byPlace []int) string {
	name := text.Escape(d.Name, "")
	at := d.Parent
	for range 3 {
		if at <= 0 {
			break
		}
		above := c.Spans[byPlace[at]]
		name = text.Escape(above.Name, "") + " › " + name
		at = above.Parent
	}
	if at > 0 {
		name = "… › " + name
	}
	if all := []rune(name); len(all) > compareName {
		name = "…" + string(all[len(all)-compareName+1:])
	}
	return name
}

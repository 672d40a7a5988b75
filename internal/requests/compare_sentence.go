package requests

import (
	"fmt"

	"github.com/perfline/perfline/internal/text"
)

const (
	notable        = 10 // the sentence mentions what makes up this part of the difference
	spanInSentence = 80 // characters
)

// Sentence describes the difference in one sentence, such as "9.1 ms of the 12 ms more were in
// sql.conn.query (11 instead of 1)". Sentence compares times on the critical path:
//
//   - The sentence names the two spans with the largest differences in the direction of
//     [Comparison.Took].
//   - The sentence ignores differences below a tenth of Took. If no difference is left, the
//     sentence names no span.
//   - If the first difference exceeds Took by a tenth or more, the sentence names only the first
//     span. Then the sentence adds that the rest is opposite.
//   - If Took is at most a hundredth of the longer duration, the sentence states only the duration.
//
// Sentence shortens names, but does not escape names. Callers that print the sentence must escape
// the sentence.
func (c Comparison) Sentence() string {
	took := c.Took()
	if took.Abs()*100 <= max(c.Slow.Duration(), c.Usual.Duration()) {
		return fmt.Sprintf("both took about %s", text.Length(c.Slow.Duration()))
	}
	direction := "more"
	if took < 0 {
		direction = "less"
	}
	whole := text.Length(took.Abs()) + " " + direction
	var parts []SpanDifference // in the direction of the whole
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
		return whole + " in all: " + text.Length(in) + " " + direction + " in " +
			c.describe(first) + ", the opposite elsewhere"
	}
	s := text.Length(min(in, took.Abs())) + " of the " + whole + " were in " + c.describe(first)
	if len(parts) > 1 {
		next := parts[1]
		s += "; " + text.Length(next.Critical().Abs()) + " were in " + c.describe(next)
	}
	return s
}

// describe names a span, with the counts of both sides if they differ.
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

package requests

import (
	"fmt"
	"strings"

	"github.com/perfline/perfline/internal/text"
)

const (
	// a tenth of the difference: what a second cause, or the opposite of the first, must have for the sentence
	notable        = 10
	spanInSentence = 80 // characters
)

// Sentence says in one sentence where the difference is, such as "9.1 ms of the 12 ms more were in
// sql.conn.query (11 instead of 1)". It has the span with the largest difference on the critical
// path, and the next one if that has a tenth of the whole difference or more. If the first is
// larger than the whole by a tenth or more, the rest has the opposite sign, and the sentence has
// that, too. The names in it are shortened, but not escaped. Code that prints the sentence escapes
// it.
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
		return whole + " in all: " + text.Length(in) + " " + direction + " in " +
			c.describe(first) + ", the opposite elsewhere"
	}
	var b strings.Builder
	b.WriteString(text.Length(min(in, took.Abs())) + " of the " + whole + " were in " +
		c.describe(first))
	if len(parts) > 1 {
		b.WriteString("; " + text.Length(parts[1].Critical().Abs()) + " were in " +
			c.describe(parts[1]))
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

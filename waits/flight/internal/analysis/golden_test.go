package analysis_test

import (
	"fmt"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// A golden writes results as text. All of a result is in it, but for what makes differences hard to
// read: goroutines have numbers in the order in which they appear, functions have no import path,
// and stacks end with the program's innermost function and the number of its callers. check looks
// at files and lines.
type golden struct {
	strings.Builder
	goroutines map[uint64]int
}

// goldenText returns the results as a golden file has them.
func goldenText(requests []waits.Request) string {
	g := golden{}
	for i := range requests {
		g.request(&requests[i])
	}
	return g.String()
}

func (g *golden) request(r *waits.Request) {
	g.goroutines = map[uint64]int{}
	fmt.Fprintf(g, "%s: %s\n", r.Name, r.Sentence())
	fmt.Fprintf(g, "  root %s began %s took %v", short(r.RootID), r.Start.UTC().Format(time.RFC3339Nano), r.Duration)
	if r.Unended {
		g.WriteString(", unended")
	}
	if r.Omitted > 0 {
		fmt.Fprintf(g, ", %d goroutines omitted", r.Omitted)
	}
	g.WriteString("\n")
	for _, c := range r.Causes {
		fmt.Fprintf(g, "  cause %v %v", c.Duration, c.Kind)
		if c.Function != "" {
			g.WriteString(" in " + text.Function(c.Function))
		}
		if c.Via != "" {
			g.WriteString(" via " + text.Qualified(c.Via))
		}
		fmt.Fprintf(g, ", span %s %q", short(c.SpanID), c.Span)
		g.party(c.By)
		if c.In != nil {
			fmt.Fprintf(g, ", in %s of %s root %s", g.number(c.In.Goroutine), c.In.Request, short(c.In.RootID))
		}
		g.WriteString("\n")
	}
	for _, routine := range r.Goroutines {
		fmt.Fprintf(g, "  goroutine %s %s\n", g.number(routine.ID), text.Function(routine.Function))
		for _, i := range routine.Intervals {
			fmt.Fprintf(g, "    %-12v %-12v %v, span %s", i.Start, i.Duration(), i.Kind, short(i.SpanID))
			g.stack(" at ", i.Stack)
			g.party(i.By)
			g.WriteString("\n")
		}
	}
}

func (g *golden) number(id uint64) string {
	n, ok := g.goroutines[id]
	if !ok {
		n = len(g.goroutines) + 1
		g.goroutines[id] = n
	}
	return fmt.Sprintf("#%d", n)
}

func (g *golden) party(p *waits.Party) {
	if p == nil {
		return
	}
	fmt.Fprintf(g, ", by %s %s", g.number(p.Goroutine), text.Function(p.Function))
	if p.RootID.IsValid() || p.Request != "" || p.TraceID.IsValid() {
		fmt.Fprintf(g, " of %s root %s", p.Request, short(p.RootID))
		if p.TraceID != traceID && p.TraceID != (trace.TraceID{}) {
			fmt.Fprintf(g, " trace %v", p.TraceID)
		}
	}
	g.stack(" at ", p.Stack)
}

func (g *golden) stack(before string, frames []waits.Frame) {
	for i, f := range frames {
		g.WriteString(before + text.Function(f.Function))
		before = " < "
		if !waiting.Standard(f.Function) {
			if callers := len(frames) - i - 1; callers > 0 {
				fmt.Fprintf(g, " +%d", callers)
			}
			return
		}
	}
}

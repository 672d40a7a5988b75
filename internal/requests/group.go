package requests

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/text"
)

const leastGroup = 3 // equal rows in a group

// A Group is a set of equal rows: spans with the same parent, name, kind and scope. A waterfall
// draws a group as one row. Other spans may lie between the rows. A span that was open when the
// process ended is in no group.
type Group struct {
	Rows    []int         // indices of the equal rows, by start
	Below   int           // the number of rows below the equal rows
	Total   time.Duration // the sum of the durations
	Failed  int           // the number of failed rows
	Slowest int           // the index of the slowest row
}

// Groups returns the groups of three or more equal rows. The groups are sorted by the first row.
// rows is the result of [Rows], or the first part of the result.
func Groups(rows []Row) []Group {
	type key struct {
		parent int // index of the parent's row
		name   string
		kind   trace.SpanKind
		scope  string
		orphan bool
	}
	at := map[key]int{}
	ends := ends(rows)
	var all []Group
	var above []int // the rows above a row
	for i, r := range rows {
		above = append(above[:r.Depth], i)
		if r.Depth == 0 || r.Open() {
			continue
		}
		k := key{above[r.Depth-1], r.Name(), r.Span.Kind, r.Span.Group.Scope().Name, r.Orphan}
		n, known := at[k]
		if !known {
			n = len(all)
			at[k] = n
			all = append(all, Group{Slowest: i})
		}
		all[n].add(rows, i)
		all[n].Below += ends[i] - i - 1
	}
	groups := all[:0]
	for _, g := range all {
		if len(g.Rows) >= leastGroup {
			groups = append(groups, g)
		}
	}
	return groups
}

func (g *Group) add(rows []Row, i int) {
	g.Rows = append(g.Rows, i)
	took := rows[i].Span.Duration()
	g.Total += took
	if rows[i].failed() {
		g.Failed++
	}
	if took > rows[g.Slowest].Span.Duration() {
		g.Slowest = i
	}
}

// title returns the name and the number of the rows in n characters. It never cuts the number.
func (g *Group) title(rows []Row, n int) string {
	number := fmt.Sprintf(" × %d", len(g.Rows))
	if rows[g.Rows[0]].Orphan {
		number += parentMissing
	}
	room := max(1, n-utf8.RuneCountInString(number))
	return atMost(text.Escape(rows[g.Rows[0]].Name(), ""), room) + number
}

// about sums up the details that the row of a group cannot show.
func (g *Group) about(rows []Row) string {
	slowest := rows[g.Slowest].Span.Duration()
	parts := []string{text.Duration(g.Total) + " in all", "slowest " + text.Duration(slowest)}
	if g.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", g.Failed))
	}
	if g.Below > 0 {
		parts = append(parts, plural(g.Below, "span")+" below")
	}
	marks := 0
	g.each(rows, func(r Row) { marks += len(r.Span.Events) })
	if marks > 0 {
		parts = append(parts, plural(marks, "mark"))
	}
	return strings.Join(parts, ", ")
}

// each calls f for each row of the group, and for each row below these.
func (g *Group) each(rows []Row, f func(Row)) {
	for _, i := range g.Rows {
		f(rows[i])
		for n := i + 1; n < len(rows) && rows[n].Depth > rows[i].Depth; n++ {
			f(rows[n])
		}
	}
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

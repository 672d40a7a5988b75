package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
)

// requestArguments are the arguments of get_request.
type requestArguments struct {
	Request string `json:"request" jsonschema:"id of the request, from list_requests or get_deaths, or a trace id"`
	Offset  int    `json:"offset,omitempty" jsonschema:"spans to leave out, for the next page"`
	Limit   int    `json:"limit,omitempty" jsonschema:"spans in the answer, from 1 to 100; 40 without it"`
}

const (
	usualSpans, mostSpans = 40, 100
	maxCauses             = 5
	maxSpanParts          = 3  // waits of a span, and marks of a span
	maxMarksAtDeath       = 20 // of a span: more than the black box has
	barWidth              = 24
)

func (s *server) getRequest(ctx context.Context, _ *mcp.CallToolRequest,
	in requestArguments) (*answer, error) {
	limit, err := pageOf(in.Offset, in.Limit, usualSpans, mostSpans)
	if err != nil {
		return nil, err
	}
	snapshot, err := s.find(in.Request)
	if err != nil {
		return nil, err
	}
	a := new(answer)
	death, open := s.openAtDeath(func(o requests.Snapshot) bool { return o.ID() == snapshot.ID() })
	var q requests.Request
	marks := maxSpanParts
	if open != nil {
		q, marks = snapshot.Request(), maxMarksAtDeath // the last ones matter
		writeHeader(a, q)
		writeDeathOf(a, s.report(death), open)
	} else {
		q = s.withWaits(ctx, snapshot)
		writeHeader(a, q)
		writeCauses(a, q)
	}
	if more := writeWaterfall(a, q, in.Offset, limit, marks); more > 0 {
		next := in
		next.Request, next.Offset = q.Root.SpanID.String(), len(q.Spans)-more
		a.suggest(toolGetRequest, next, word(fmt.Sprintf("%d more spans", more)))
	}
	if open != nil {
		a.suggest(toolDeaths, deathsArguments{Death: death},
			"how the process died, and its other open requests")
		suggestSpan(a, q)
		a.suggest(toolCompare, compareArguments{Slow: q.Root.SpanID.String()},
			"with a request of the route that has ended since")
		return a, nil
	}
	s.suggestAbout(a, q)
	return a, nil
}

func writeHeader(a *answer, q requests.Request) {
	a.line("request %v: %s took %s, %s, %s, %s", q.Root.SpanID, q.Root.Name, took(q.Duration()),
		status(q.Root), moment(q.Root.Start), number(len(q.Spans), "span"))
	a.line("trace %v", q.TraceID())
	if q.Dropped > 0 {
		a.line("%d spans of the trace are not in memory", q.Dropped)
	}
}

func status(root *otlpenc.Span) word {
	text := "ok"
	if root.Status.Code == codes.Error {
		text = "failed"
		if root.Status.Description != "" {
			text += quotef(" with %s", value(root.Status.Description))
		}
	}
	if protocol := requests.ProtocolStatus(root); protocol != "" {
		text += quotef(", status %s", protocol)
	}
	return word(text)
}

func writeCauses(a *answer, q requests.Request) {
	if q.Waits == nil {
		a.line("cause: unknown, %s", word(q.NoWaits))
		return
	}
	a.line("cause: %s", sentence(q.Waits))
	if dropped := waiting.Dropped(q.Waits); dropped != "" {
		a.line("%s", word(dropped))
	}
	if len(q.Waits.Causes) < 2 {
		return
	}
	a.line("parts of the duration, the longest first:")
	for i, c := range q.Waits.Causes {
		if i == maxCauses {
			a.line("  %d more parts", len(q.Waits.Causes)-i)
			break
		}
		text := quotef("  %s: %s", took(c.Duration), word(c.Kind.String()))
		if c.Function != "" {
			text += quotef(" in %s", c.Function)
		}
		if c.Via != "" {
			text += quotef(" via %s", c.Via)
		}
		if c.In != nil {
			text += quotef(" of request %v %s", c.In.RootID, c.In.Request)
		}
		if c.Span != "" && c.SpanID != q.Root.SpanID {
			text += quotef(", span %v %s", c.SpanID, c.Span)
		}
		a.line("%s", word(text)+party(c.By, c.Kind, q.Root.SpanID))
	}
}

// writeWaterfall writes spans, each with its first marks and its waits. It returns the number of
// further spans.
func writeWaterfall(a *answer, q requests.Request, offset, limit, marks int) (more int) {
	rows := requests.Rows(q)
	if offset >= len(rows) {
		a.line("no span from %d on: there are %d", offset, len(rows))
		return 0
	}
	all, waits := requests.Segments(q, 0, q.Duration(), barWidth), requests.Waits(q)
	a.line("spans from %d on, of %d, as a tree: id, start after the request in ms, duration in ms, bar, name. A dot is a level.", offset, len(rows))
	if q.Waits == nil {
		a.line("bars: = the span")
	} else {
		a.line("bars: %s", legend)
	}
	_, more = writePage(a, rows, offset, limit, func(r requests.Row) string {
		return spanLines(q, r, marks, all[r.Span.SpanID], waits[r.Span.SpanID])
	})
	return more
}

// spanLines returns the line of a span, and the lines of its marks and waits.
func spanLines(
	q requests.Request, r requests.Row, marks int, segments []requests.Segment,
	waits []requests.Wait,
) string {
	s := r.Span
	note := ""
	if s.Status.Code == codes.Error {
		note = " failed"
	}
	if r.Orphan {
		note += " parent missing"
	}
	lines := []string{quotef("%v %7s %7s %s %s%s%s", s.SpanID, ms(s.Start.Sub(q.Root.Start)),
		ms(s.Duration()), bar(q, s, segments),
		word(strings.Repeat("· ", min(r.Depth, maxDepth))), r.Name(), word(note))}
	for i, e := range s.Events {
		if i == marks {
			lines = append(lines, quotef("    %d more marks: see %s", len(s.Events)-i, toolGetSpan))
			break
		}
		lines = append(lines,
			quotef("    mark at %s: %s%s", took(e.Time.Sub(q.Root.Start)), e.Name,
				attributes(e.Attributes, maxSpanParts)))
	}
	for i, w := range waits {
		if i == maxSpanParts || w.Total < q.Duration()/100 {
			break
		}
		text := quotef("    wait of %s: %s, %s", took(w.Total), word(w.Kind.String()),
			number(w.Count, "time"))
		if w.Function != "" {
			text += quotef(" in %s", short(w.Function))
		}
		lines = append(lines, text+string(party(w.By, w.Kind, q.Root.SpanID)))
	}
	return strings.Join(lines, "\n")
}

const maxDepth = 16 // dots for the level of a span

// bar draws the place of a span in the request, and its waits.
func bar(q requests.Request, s *otlpenc.Span, segments []requests.Segment) word {
	total := max(1, q.Duration())
	column := func(d time.Duration) int {
		return int(max(0, min(barWidth-1, float64(d)/float64(total)*barWidth)))
	}
	cells := []byte(strings.Repeat(".", barWidth))
	fill := byte('=')
	if q.Waits != nil {
		fill = letters[waiting.ClassUnknown]
	}
	for i := column(s.Start.Sub(q.Root.Start)); i <= column(s.End.Sub(q.Root.Start)); i++ {
		cells[i] = fill
	}
	for _, seg := range segments {
		for i := column(seg.Start); i <= column(seg.End-1); i++ {
			cells[i] = letters[waiting.ClassOf(seg.Kind)]
		}
	}
	return word(cells)
}

func (s *server) suggestAbout(a *answer, q requests.Request) {
	own := q.Root.SpanID
	if q.Waits != nil && len(q.Waits.Causes) > 0 {
		by := cmp.Or(q.Waits.Causes[0].In, q.Waits.Causes[0].By)
		if by != nil && by.RootID.IsValid() && by.RootID != own {
			if _, err := s.find(by.RootID.String()); err == nil {
				a.suggest(toolGetRequest, requestArguments{Request: by.RootID.String()},
					"the request that this one waited for")
			}
		}
	} else if q.Inside.IsValid() {
		a.suggest(toolGetRequest, requestArguments{Request: q.Inside.String()},
			"the request that sent this one")
	} else {
		a.suggest(toolWaitsState, struct{}{},
			"why the cause is unknown, and how to get causes of further requests")
	}
	a.suggest(toolCompare, compareArguments{Slow: own.String()},
		"with a usual request of the route")
	suggestSpan(a, q)
	a.suggest(toolProfile, profileArguments{Route: routeID(q.Root.Name)},
		"functions that use the CPU in requests of this route")
}

func suggestSpan(a *answer, q requests.Request) {
	own := q.Root.SpanID.String()
	if failed := failedSpan(q); failed.IsValid() {
		a.suggest(toolGetSpan, spanArguments{Request: own, Span: failed.String()},
			"the span that failed")
	} else {
		a.suggest(toolGetSpan, spanArguments{Request: own, Span: longestSpan(q).String()},
			"attributes and marks of the longest span without spans below it")
	}
}

// failedSpan returns the last failed span, which is usually the innermost one. Without a failed
// span, the id is invalid.
func failedSpan(q requests.Request) (id trace.SpanID) {
	for _, r := range requests.Rows(q) {
		if r.Span.Status.Code == codes.Error {
			id = r.Span.SpanID
		}
	}
	return id
}

// longestSpan returns the longest span without spans below the span.
func longestSpan(q requests.Request) trace.SpanID {
	rows := requests.Rows(q)
	longest := q.Root
	for i, r := range rows {
		leaf := i+1 == len(rows) || rows[i+1].Depth <= r.Depth
		if leaf && (longest == q.Root || r.Span.Duration() > longest.Duration()) {
			longest = r.Span
		}
	}
	return longest.SpanID
}

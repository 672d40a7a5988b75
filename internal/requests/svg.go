package requests

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"time"

	"github.com/perfline/perfline/internal/text"
)

// Measures of the picture, in pixels.
const (
	svgWidth  = 960
	svgTree   = 300 // the names' column
	svgTimes  = 80  // the durations' column
	svgRow    = 20
	svgHeader = 34
	svgIndent = 12
	svgDepth  = 15  // levels with an indent of their own, so that there is room for a name
	svgLetter = 7.3 // the width of a character, about
)

// WriteSVG draws the request as an SVG picture. The rows are the result of [Rows]. A diamond on a
// span is a mark. The tooltip of a diamond contains the mark's name. WriteSVG cuts names at the
// width of the column. A line below the spans states how many spans of the trace are missing.
//
// With q.Waits, a sentence below the header names the cause of the duration. Bars show the states
// of the span's goroutine. A legend at the bottom explains the colours. The tooltip of a part of a
// bar names the longest wait in that part. Without q.Waits, the sentence has q.NoWaits.
func WriteSVG(w io.Writer, q Request) error {
	b := bufio.NewWriter(w)
	rows := Rows(q)
	start, total := q.Root.Start, max(1, q.Duration())
	bar := float64(svgWidth - svgTree - svgTimes)
	x := func(t time.Time) float64 {
		return svgTree + max(0, min(bar, float64(t.Sub(start))/float64(total)*bar))
	}
	drawn := newSVGWaits(q, len(rows), x)
	top := svgHeader + drawn.above()
	height := top + svgRow*len(rows) + drawn.below() + 8
	if q.Dropped > 0 {
		height += svgRow
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="ui-monospace,monospace" font-size="12">`+"\n",
		svgWidth, height, svgWidth, height)
	fmt.Fprintf(b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="8" y="20" font-weight="bold">%s</text>`+"\n", html.EscapeString(q.header()))
	drawn.sentence(b)
	for i, r := range rows {
		if _, err := b.Write(nil); err != nil {
			return err // b keeps its first error
		}
		y := top + svgRow*i
		indent := svgIndent * min(r.Depth, svgDepth)
		from, to := x(r.Span.Start), x(r.Span.End)
		if i%2 == 0 {
			fmt.Fprintf(b, `<rect y="%d" width="%d" height="%d" fill="#f4f6f8"/>`+"\n", y, svgWidth,
				svgRow)
		}
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text><rect x="%.1f" y="%d" width="%.1f" height="%d" rx="2" fill="%s"/>`+"\n",
			8+indent, y+14, html.EscapeString(
				atMost(r.title(), int((svgTree-16-float64(indent))/svgLetter))), from, y+4,
			max(1, to-from), svgRow-8, drawn.bar(r.Depth))
		drawn.segments(b, r.Span.SpanID, y+4)
		for _, e := range r.Span.Events {
			at, mid := x(e.Time), float64(y)+svgRow/2
			fmt.Fprintf(b, `<path d="M%.1f %.1fl5 5l-5 5l-5 -5z" fill="#d9480f" stroke="#fff"><title>%s at %s</title></path>`+"\n",
				at, mid-5, html.EscapeString(atMost(text.Escape(e.Name, ""), maxName)),
				text.Duration(e.Time.Sub(start)))
		}
		fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", svgWidth-8, y+14,
			text.Duration(r.Span.Duration()))
	}
	if q.Dropped > 0 {
		fmt.Fprintf(b, `<text x="8" y="%d">%s</text>`+"\n", top+svgRow*len(rows)+14, q.missing())
	}
	drawn.legend(b, height-8-svgRow)
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}

func depthColour(depth int) string {
	return [...]string{"#1864ab", "#1c7ed6", "#4dabf7", "#74c0fc"}[min(depth, 3)]
}

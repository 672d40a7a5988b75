package requests

import (
	"fmt"
	"html"
	"io"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// Bounds of the states in a picture. With many spans, columns become wider.
const (
	svgColumns  = (svgWidth - svgTree - svgTimes) / 2 // in a bar at most: of two pixels
	svgCoarse   = 20                                  // columns in a bar at least
	svgSegments = 20_000                              // in all bars, about
	svgSentence = 128                                 // characters that fit into the width
)

var colours = [waiting.Classes]string{
	waiting.ClassUnknown:   "#ffffff",
	waiting.ClassRunning:   "#1c7ed6",
	waiting.ClassRunnable:  "#f59f00",
	waiting.ClassWaiting:   "#ced4da",
	waiting.ClassSyscall:   "#7950f2",
	waiting.ClassCollector: "#e64980",
}

// svgWaits draws q.Waits, or the sentence on q.NoWaits.
type svgWaits struct {
	q        Request
	parts    map[trace.SpanID][]Segment
	position func(time.Time) float64
}

func newSVGWaits(q Request, rows int, position func(time.Time) float64) svgWaits {
	s := svgWaits{q: q, position: position}
	if q.Waits != nil {
		s.parts = Segments(q, 0, q.Duration(), min(svgColumns, max(svgCoarse, svgSegments/rows)))
	}
	return s
}

// above returns the height of the sentence.
func (s svgWaits) above() int {
	if s.q.Cause() == "" {
		return 0
	}
	return svgRow
}

// below returns the height of the legend.
func (s svgWaits) below() int {
	if s.q.Waits == nil {
		return 0
	}
	return svgRow + 4
}

func (s svgWaits) sentence(w io.Writer) {
	if s.above() == 0 {
		return
	}
	sentence := text.Escape(s.q.Cause(), "")
	if s.q.Waits != nil && waiting.Dropped(s.q.Waits) != "" {
		sentence += " (" + waiting.Dropped(s.q.Waits) + ")"
	}
	fmt.Fprintf(w, `<text x="8" y="%d"><title>%s</title>%s</text>`+"\n", svgHeader+4,
		html.EscapeString(atMost(sentence, maxSentence)),
		html.EscapeString(atMost(sentence, svgSentence)))
}

// bar returns the colour of a bar below its segments.
func (s svgWaits) bar(depth int) string {
	if s.q.Waits == nil {
		return depthColour(depth)
	}
	return `#fff" stroke="#868e96`
}

func (s svgWaits) segments(w io.Writer, span trace.SpanID, y int) {
	start := s.q.Root.Start
	for _, p := range s.parts[span] {
		if p.Kind == waits.Gap {
			continue // the bar shows
		}
		from, to := s.position(start.Add(p.Start)), s.position(start.Add(p.End))
		longest := Wait{Kind: p.Kind, Count: 1, Function: waiting.Function(p.Longest),
			By: p.Longest.By}
		fmt.Fprintf(w, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>%s: %s</title></rect>`+"\n",
			from, y, max(0.5, to-from), svgRow-8, colours[waiting.ClassOf(p.Kind)],
			html.EscapeString(atMost(longest.describe(s.q.Root.SpanID), maxSentence)),
			text.Duration(p.Longest.Duration()))
	}
}

func (s svgWaits) legend(w io.Writer, y int) {
	if s.q.Waits == nil {
		return
	}
	x := 8
	for i := range waiting.Classes {
		class := (i + waiting.ClassRunning) % waiting.Classes // unknown comes last
		fmt.Fprintf(w, `<rect x="%d" y="%d" width="12" height="12" fill="%s" stroke="#868e96"/><text x="%d" y="%d">%s</text>`+"\n", x, y+2, colours[class], x+17, y+12, class)
		x += 36 + int(svgLetter*float64(len(class.String())))
	}
}

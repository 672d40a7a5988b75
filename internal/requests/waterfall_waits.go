package requests

import (
	"fmt"
	"strings"

	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/waiting"
)

const (
	maxSentence  = 300 // characters of the sentence
	maxWaits     = 3   // rows of a span's waits
	leastWaiting = 100 // a wait of this part of the request, or longer, gets a row
)

// glyphs fill bars. A bar without states has the glyph of running.
var glyphs = [waiting.Classes]rune{
	waiting.ClassUnknown:   '─',
	waiting.ClassRunning:   '█',
	waiting.ClassRunnable:  '▒',
	waiting.ClassWaiting:   '░',
	waiting.ClassSyscall:   '▓',
	waiting.ClassCollector: '▚',
}

// explain prints the sentence, and prepares the bars and the rows of waits.
func (f *waterfall) explain(q Request) {
	if sentence := q.Cause(); sentence != "" {
		fmt.Fprintln(f.w, atMost(text.Escape(sentence, ""), maxSentence))
	}
	if q.Waits == nil {
		return
	}
	if dropped := waiting.Dropped(q.Waits); dropped != "" {
		fmt.Fprintln(f.w, dropped)
	}
	f.segments = Segments(q, 0, q.Duration(), barWidth)
	f.waits = Waits(q)
}

// longest returns the waits that get a row. waits has the longest first.
func (f *waterfall) longest(waits []Wait) []Wait {
	n := 0
	for n < min(len(waits), maxWaits) && waits[n].Total >= f.total/leastWaiting {
		n++
	}
	return waits[:n]
}

// full returns the glyph of a bar below its states.
func (f *waterfall) full() rune {
	if f.segments == nil {
		return glyphs[waiting.ClassRunning]
	}
	return glyphs[waiting.ClassUnknown]
}

// fill draws the states of a span's goroutine.
func (f *waterfall) fill(bar []rune, segments []Segment) {
	for _, s := range segments {
		class := waiting.ClassOf(s.Kind)
		f.classes[class] = true
		for i := f.column(f.start.Add(s.Start)); i <= f.column(f.start.Add(s.End-1)); i++ {
			bar[i] = glyphs[class]
		}
	}
}

// legend explains the bars.
func (f *waterfall) legend() {
	if f.segments == nil {
		return
	}
	var parts []string
	for class := waiting.ClassRunning; class < waiting.Classes; class++ {
		if f.classes[class] {
			parts = append(parts, string(glyphs[class])+" "+class.String())
		}
	}
	parts = append(parts, string(glyphs[waiting.ClassUnknown])+" "+waiting.ClassUnknown.String())
	fmt.Fprintln(f.w, strings.Join(parts, "  "))
}

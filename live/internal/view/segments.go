package view

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
)

// A segmentRow is a part of a span's bar.
type segmentRow struct {
	Kind  string  `json:"kind"`  // kind
	Class string  `json:"class"` // class of the kind
	Start float64 `json:"start"` // since the epoch of Unix
	Took  float64 `json:"took"`  // duration

	// The rest is of the longest wait in the part. It is missing where the goroutine ran.
	Wait float64 `json:"wait,omitempty"` // how long it was
	// index in segmentTables.Functions: outside the standard library
	In *int `json:"in,omitempty"`
	// index in segmentTables.Parties: ended the wait, or had the processor
	By *int `json:"by,omitempty"`
}

// segmentTables have what many parts of bars refer to.
type segmentTables struct {
	Functions []string   `json:"functions,omitempty"` // names of functions that waited
	Parties   []partyRow `json:"parties,omitempty"`   // ended waits, or had the processor
}

// A waitEnd is the identity of a party without its stack.
type waitEnd struct {
	goroutine uint64
	function  string
	traceID   trace.TraceID
	rootID    trace.SpanID
}

// segments returns the parts of a bar.
func (b *waitsBuilder) segments(all []requests.Segment) []segmentRow {
	var rows []segmentRow
	for _, s := range all {
		class := waiting.ClassOf(s.Kind)
		row := segmentRow{Kind: s.Kind.String(), Class: class.String(),
			Start: observer.Milliseconds(s.Start), Took: observer.Milliseconds(s.End - s.Start)}
		if class != waiting.ClassUnknown && class != waiting.ClassRunning {
			row.Wait = observer.Milliseconds(s.Longest.Duration())
			row.In, row.By = b.function(waiting.Function(s.Longest)), b.waitEnd(s.Longest.By)
		}
		if !b.l.take(row) {
			b.l.cut.Waits++
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// function returns the index of a function, or nil if it is unknown or there is no room for it.
func (b *waitsBuilder) function(name string) *int {
	if name == "" {
		return nil
	}
	at, known := b.functions[name]
	if !known {
		s := Shown(name)
		if !b.l.take(s) {
			return nil
		}
		at = len(b.d.Functions)
		b.functions[name] = at
		b.d.Functions = append(b.d.Functions, s)
	}
	return &at
}

// waitEnd returns the index of a party, or nil if it is unknown or there is no room for it.
func (b *waitsBuilder) waitEnd(p *waits.Party) *int {
	if p == nil {
		return nil
	}
	key := waitEnd{p.Goroutine, p.Function, p.TraceID, p.RootID}
	at, known := b.parties[key]
	if !known {
		row := b.party(p)
		if !b.l.take(row) {
			return nil
		}
		at = len(b.d.Parties)
		b.parties[key] = at
		b.d.Parties = append(b.d.Parties, *row)
	}
	return &at
}

// MaxWindowColumns is the number of parts of a bar in a part of the request.
const MaxWindowColumns = 1000

// A WindowWaits is the parts of bars in a part of a request.
type WindowWaits struct {
	Spans []windowSpan `json:"spans"`         // spans with segments in the part
	Cut   int          `json:"cut,omitempty"` // parts left out
	segmentTables
}

type windowSpan struct {
	ID       string       `json:"id"`       // of the span, 16 hex digits
	Segments []segmentRow `json:"segments"` // of its goroutine, by time
}

// NewWindowWaits returns what a request waited for between two times since its start. A bar has at
// most a number of parts.
func NewWindowWaits(q requests.Request, from, to time.Duration, columns int, has Has) WindowWaits {
	rows := requests.Rows(q)
	rows = rows[:min(len(rows), maxRows)]
	within := 0
	for _, row := range rows {
		if row.Span.End.Sub(q.Root.Start) > from && row.Span.Start.Sub(q.Root.Start) < to {
			within++
		}
	}
	l := limits{bytes: maxDetail}
	b := newWaitsBuilder(q, &l, has)
	columns = max(leastColumns, min(columns, maxSegments/max(1, within)))
	segments := requests.Segments(q, from, to, columns)
	w := WindowWaits{Spans: []windowSpan{}}
	for _, row := range rows {
		if of := b.segments(segments[row.Span.SpanID]); len(of) > 0 {
			w.Spans = append(w.Spans, windowSpan{row.Span.SpanID.String(), of})
		}
	}
	w.Cut, w.segmentTables = l.cut.Waits, b.d.segmentTables
	return w
}

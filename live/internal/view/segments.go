package view

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// A segmentRow is a part of a span's bar. Wait, In and By describe the longest wait in the part;
// they are missing where the goroutine ran.
type segmentRow struct {
	stateKind
	Start float64 `json:"start"`          // since the start of the request
	Took  float64 `json:"took"`           // duration
	Wait  float64 `json:"wait,omitempty"` // duration of the longest wait
	In    *int    `json:"in,omitempty"`   // index in Functions: caller outside the standard library
	By    *int    `json:"by,omitempty"`   // index in Parties: ended the wait, or had the processor
}

// segmentTables hold the values that segments refer to by index.
type segmentTables struct {
	Functions []string   `json:"functions,omitempty"` // names of functions that waited
	Parties   []partyRow `json:"parties,omitempty"`   // ended waits, or had the processor
}

// A waitEnd identifies a party, without the party's stack.
type waitEnd struct {
	goroutine uint64
	function  string
	traceID   trace.TraceID
	rootID    trace.SpanID
}

func (b *waitsBuilder) segments(all []requests.Segment) []segmentRow {
	var rows []segmentRow
	for _, s := range all {
		row := segmentRow{
			stateKind: newStateKind(s.Kind), Start: ms(s.Start), Took: ms(s.End - s.Start),
		}
		class := waiting.ClassOf(s.Kind)
		if class != waiting.ClassUnknown && class != waiting.ClassRunning {
			row.Wait = ms(s.Longest.Duration())
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

// function returns the index of a function, or nil for an empty name or lack of room.
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

// waitEnd returns the index of a party, or nil for an unknown party or lack of room.
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

// MaxWindowColumns limits the number of segments of a bar in WindowWaits.
const MaxWindowColumns = 1000

// A WindowWaits holds finer bars for a part of a request.
type WindowWaits struct {
	Spans []windowSpan `json:"spans"`         // spans with segments in the part
	Cut   int          `json:"cut,omitempty"` // segments left out
	segmentTables
}

type windowSpan struct {
	ID       string       `json:"id"`       // id of the span, 16 hex digits
	Segments []segmentRow `json:"segments"` // of the span's goroutine, by time
}

// NewWindowWaits returns the bars of a request between from and to. Both times count from the start
// of the request. Each bar contains at most columns segments.
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
	columns = max(minColumns, min(columns, maxSegments/max(1, within)))
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

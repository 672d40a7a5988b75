package live

import (
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
)

// A segmentRow is a part of a span's bar.
type segmentRow struct {
	Kind  string  `json:"kind"`
	Class string  `json:"class"`
	Start float64 `json:"start"`
	Took  float64 `json:"took"`

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
		s := shown(name)
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

// mostWindowColumns is the number of parts of a bar in a part of the request.
const mostWindowColumns = 1000

// A windowWaits is the parts of bars in a part of a request.
type windowWaits struct {
	Spans []windowSpan `json:"spans"`         // spans with states in the part
	Cut   int          `json:"cut,omitempty"` // parts left out
	segmentTables
}

type windowSpan struct {
	ID     string       `json:"id"`     // of the span, 16 hex digits
	States []segmentRow `json:"states"` // of its goroutine, by time
}

// requestWaits answers with the states of a request between two times, in finer parts than the
// whole request has.
func (h *handler) requestWaits(w http.ResponseWriter, r *http.Request) {
	q, ok := h.find(r.PathValue("trace"), r.PathValue("span"))
	if !ok {
		refuseRequest(w)
		return
	}
	from, to, n, err := window(r.URL.Query(), q.Duration())
	if err != "" {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if headOnly(w, r) {
		return
	}
	rows := requests.Rows(q)
	rows = rows[:min(len(rows), maxRows)]
	within := 0
	for _, row := range rows {
		if row.Span.End.Sub(q.Root.Start) > from && row.Span.Start.Sub(q.Root.Start) < to {
			within++
		}
	}
	l := limits{bytes: maxDetail}
	b := h.waitsBuilder(q, &l)
	segments := requests.Segments(q, from, to,
		max(leastColumns, min(n, maxSegments/max(1, within))))
	answered := windowWaits{Spans: []windowSpan{}}
	for _, row := range rows {
		if of := b.segments(segments[row.Span.SpanID]); len(of) > 0 {
			answered.Spans = append(answered.Spans, windowSpan{row.Span.SpanID.String(), of})
		}
	}
	answered.Cut, answered.segmentTables = l.cut.Waits, b.d.segmentTables
	answer(w, answered)
}

// window reads a part of a request that took a time. The error is for the client, and empty if
// there is none.
func window(query url.Values, took time.Duration) (from, to time.Duration, columns int,
	err string) {
	a, aErr := strconv.ParseFloat(query.Get("from"), 64)
	b, bErr := strconv.ParseFloat(query.Get("to"), 64)
	n, nErr := strconv.Atoi(query.Get("columns"))
	most := observer.Milliseconds(took)
	switch {
	case aErr != nil || bErr != nil || math.IsNaN(a) || math.IsNaN(b) || a < 0 || b > most ||
		a >= b:
		return 0, 0, 0, "from and to must be milliseconds since the start of the request, 0 ≤ from < to ≤ " + strconv.FormatFloat(most, 'f', -1, 64)
	case nErr != nil || n < 1 || n > mostWindowColumns:
		return 0, 0, 0, "columns must be a number from 1 to " + strconv.Itoa(mostWindowColumns)
	}
	from, to = time.Duration(a*float64(time.Millisecond)),
		min(took, time.Duration(math.Ceil(b*float64(time.Millisecond))))
	return from, max(to, from+1), n, ""
}

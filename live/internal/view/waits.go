package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/waits"
)

// Bounds of what the page has of an execution trace.
const (
	maxCauses    = 8
	maxIntervals = 3000 // of all goroutines; the longest
	maxStack     = 64   // frames
	maxSpanWaits = 8    // of a span
	maxSegments  = 8000 // about, in all bars: with many spans, bars are coarser
	mostColumns  = 240  // parts of a bar
	leastColumns = 16
)

// A waitsDetail is what a request's goroutines did, from an execution trace.
type waitsDetail struct {
	// names the cause of the duration
	Sentence   string         `json:"sentence"`
	Causes     []causeRow     `json:"causes" null:"true"`     // the longest first
	Goroutines []goroutineRow `json:"goroutines" null:"true"` // goroutines
	// that intervals and parties refer to by index
	Stacks [][]frameRow `json:"stacks" null:"true"`
	// samples that the trace contradicts, which are left out
	Contradictions int `json:"contradictions,omitempty"`
	segmentTables
}

type causeRow struct {
	Kind     string    `json:"kind"`               // kind
	Class    string    `json:"class"`              // class of the kind
	Took     float64   `json:"took"`               // duration
	Function string    `json:"function,omitempty"` // function that waited or ran
	Span     string    `json:"span,omitempty"`     // id of the span, 16 hex digits
	By       *partyRow `json:"by,omitempty"`       // ended the wait
}

type goroutineRow struct {
	ID        uint64        `json:"id"`            // id of the goroutine
	Function  string        `json:"function"`      // that it began with
	Intervals []intervalRow `json:"intervals"`     // in the order of time
	Cut       int           `json:"cut,omitempty"` // short intervals left out
}

type intervalRow struct {
	Kind string `json:"kind"` // kind
	// what kinds have in common, as "waiting" or "runnable"
	Class string    `json:"class"`
	Start float64   `json:"start"`           // since the request's
	Took  float64   `json:"took"`            // duration
	Span  string    `json:"span"`            // id of the span, 16 hex digits
	In    string    `json:"in,omitempty"`    // function outside the standard library
	Stack *int      `json:"stack,omitempty"` // index
	By    *partyRow `json:"by,omitempty"`    // ended the wait, or had the processor
}

type partyRow struct {
	Goroutine uint64 `json:"goroutine"`          // id of a goroutine
	Function  string `json:"function,omitempty"` // function
	Request   string `json:"request,omitempty"`  // the name
	Trace     string `json:"trace,omitempty"`    // of the request, if the page has it
	Span      string `json:"span,omitempty"`     // of its root
	Own       bool   `json:"own,omitempty"`      // it worked for this request
	Stack     *int   `json:"stack,omitempty"`    // index; of intervals only
}

type frameRow struct {
	Function string `json:"function"`       // function
	File     string `json:"file,omitempty"` // file of the source
	Line     int    `json:"line,omitempty"` // line in the file
}

// A waitRow sums up the waits of a span for the same.
type waitRow struct {
	Kind  string    `json:"kind"`         // kind
	Class string    `json:"class"`        // class of the kind
	Took  float64   `json:"took"`         // duration
	Count int       `json:"count"`        // waits
	In    string    `json:"in,omitempty"` // function outside the standard library
	By    *partyRow `json:"by,omitempty"` // ended the longest of the waits
}

// A sharedStack is the identity of a stack, without its content.
type sharedStack struct {
	first *waits.Frame
	len   int
}

// Has reports whether the page has a request.
type Has func(local.ID) bool

// A waitsBuilder makes the page's data of a request with waits.
type waitsBuilder struct {
	q      requests.Request
	l      *limits
	d      *waitsDetail
	stacks map[string]int       // indices in d.Stacks, by their JSON
	shared map[sharedStack]*int // the same, by identity: most intervals share their stacks
	full   bool                 // there was no room for a stack
	known  map[local.ID]bool    // requests that the page has, or not
	has    Has

	functions map[string]int // indices in d.Functions
	parties   map[waitEnd]int
}

func newWaitsBuilder(q requests.Request, l *limits, has Has) *waitsBuilder {
	return &waitsBuilder{
		q: q, l: l, has: has, d: &waitsDetail{},
		stacks: map[string]int{}, shared: map[sharedStack]*int{}, known: map[local.ID]bool{},
		functions: map[string]int{}, parties: map[waitEnd]int{},
	}
}

// bars adds segments and waits to rows of spans.
func (b *waitsBuilder) bars(rows []spanRow, all []requests.Row) {
	segments := requests.Segments(b.q, 0, b.q.Duration(),
		max(leastColumns, min(mostColumns, maxSegments/max(1, len(rows)))))
	waits := requests.Waits(b.q)
	for i := range rows {
		id := all[i].Span.SpanID
		rows[i].Segments = b.segments(segments[id])
		for n, w := range waits[id] {
			if n >= maxSpanWaits {
				rows[i].WaitsCut++
				continue
			}
			row := waitRow{w.Kind.String(), waiting.ClassOf(w.Kind).String(),
				observer.Milliseconds(w.Total), w.Count, Shown(w.Function), b.party(w.By)}
			if !b.l.take(row) {
				rows[i].WaitsCut++
				continue
			}
			rows[i].Waits = append(rows[i].Waits, row)
		}
	}
}

// detail returns the rest of it.
func (b *waitsBuilder) detail() *waitsDetail {
	r := b.q.Waits
	b.d.Sentence = block(r.Sentence())
	for _, c := range r.Causes[:min(len(r.Causes), maxCauses)] {
		row := causeRow{Kind: c.Kind.String(), Class: waiting.ClassOf(c.Kind).String(),
			Took: observer.Milliseconds(c.Duration), Function: Shown(c.Function), By: b.party(c.By)}
		if c.SpanID.IsValid() {
			row.Span = c.SpanID.String()
		}
		b.d.Causes = append(b.d.Causes, row)
	}
	shows := b.longest(maxIntervals)
	for i := range r.Goroutines {
		g := &r.Goroutines[i]
		row := goroutineRow{ID: g.ID, Function: Shown(g.Function), Intervals: []intervalRow{}}
		if !b.l.take(row) {
			b.l.cut.Waits += len(g.Intervals)
			continue
		}
		for n := range g.Intervals {
			if !shows(g.Intervals[n].Duration()) {
				row.Cut++
				continue
			}
			interval := b.interval(&g.Intervals[n])
			if !b.l.take(interval) {
				row.Cut++
				continue
			}
			row.Intervals = append(row.Intervals, interval)
		}
		b.d.Goroutines = append(b.d.Goroutines, row)
	}
	return b.d
}

// longest returns a function that is asked about the duration of each interval once, and returns
// true for the n longest.
func (b *waitsBuilder) longest(n int) func(time.Duration) bool {
	var all []time.Duration
	for i := range b.q.Waits.Goroutines {
		for k := range b.q.Waits.Goroutines[i].Intervals {
			all = append(all, b.q.Waits.Goroutines[i].Intervals[k].Duration())
		}
	}
	if len(all) <= n {
		return func(time.Duration) bool { return true }
	}
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	least := all[n]
	equal := n - slices.Index(all, least) // that have room among the n
	return func(d time.Duration) bool {
		if d == least {
			equal--
			return equal >= 0
		}
		return d > least
	}
}

func (b *waitsBuilder) interval(i *waits.Interval) intervalRow {
	return intervalRow{
		Kind: i.Kind.String(), Class: waiting.ClassOf(i.Kind).String(),
		Start: observer.Milliseconds(i.Start), Took: observer.Milliseconds(i.Duration()),
		Span: i.SpanID.String(), In: Shown(waiting.Function(i)), Stack: b.stack(i.Stack),
		By: b.partyWithStack(i.By),
	}
}

func (b *waitsBuilder) partyWithStack(p *waits.Party) *partyRow {
	row := b.party(p)
	if row != nil {
		row.Stack = b.stack(p.Stack)
	}
	return row
}

// party returns the party without its stack, which the page shows of intervals only.
func (b *waitsBuilder) party(p *waits.Party) *partyRow {
	if p == nil {
		return nil
	}
	row := &partyRow{Goroutine: p.Goroutine, Function: Shown(p.Function), Request: Shown(p.Request)}
	if !p.RootID.IsValid() {
		return row
	}
	id := local.ID{Trace: p.TraceID, Span: p.RootID}
	if row.Own = id == (local.ID{Trace: b.q.TraceID(), Span: b.q.Root.SpanID}); row.Own {
		return row
	}
	has, looked := b.known[id]
	if !looked {
		has = b.has(id)
		b.known[id] = has
	}
	if has {
		row.Trace, row.Span = p.TraceID.String(), p.RootID.String()
	}
	return row
}

// stack returns the index of a stack, or nil if there is none, or no room for it.
func (b *waitsBuilder) stack(stack []waits.Frame) *int {
	if len(stack) == 0 {
		return nil
	}
	if at, known := b.shared[sharedStack{&stack[0], len(stack)}]; known || b.full {
		return at
	}
	at := b.newStack(stack)
	b.shared[sharedStack{&stack[0], len(stack)}] = at
	return at
}

func (b *waitsBuilder) newStack(stack []waits.Frame) *int {
	rows := make([]frameRow, 0, min(len(stack), maxStack))
	for _, f := range stack[:min(len(stack), maxStack)] {
		rows = append(rows, frameRow{Shown(f.Function), Shown(f.File), f.Line})
	}
	key, err := json.Marshal(rows)
	if err != nil {
		return nil
	}
	at, known := b.stacks[string(key)]
	if !known {
		if b.full = !b.l.take(rows); b.full {
			return nil
		}
		at = len(b.d.Stacks)
		b.stacks[string(key)] = at
		b.d.Stacks = append(b.d.Stacks, rows)
	}
	return &at
}

package view

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

// Bounds of a waitsDetail.
const (
	maxCauses    = 8
	maxIntervals = 3000 // of all goroutines; the shortest are left out
	maxStack     = 64   // frames
	maxSpanWaits = 8    // of a span
	maxSegments  = 8000 // of all bars, about: many spans get coarser bars
	maxColumns   = 240  // segments of a bar
	minColumns   = 16
)

// A waitsDetail describes the states of a request's goroutines, from an execution trace.
type waitsDetail struct {
	Sentence   string         `json:"sentence"`               // names the cause of the duration
	Dropped    string         `json:"dropped,omitempty"`      // why the goroutines are missing
	Causes     []causeRow     `json:"causes" null:"true"`     // the longest first
	Goroutines []goroutineRow `json:"goroutines" null:"true"` // goroutines of the request
	Frames     []frameRow     `json:"frames" null:"true"`     // calls of all stacks
	Stacks     [][]int        `json:"stacks" null:"true"`     // indices in Frames, innermost first

	Contradictions int `json:"contradictions,omitempty"` // samples against the trace, left out
	segmentTables
}

// A stateKind names a state of goroutines.
type stateKind struct {
	Kind  string `json:"kind"`  // kind of the state
	Class string `json:"class"` // class of the kind, such as "waiting" or "runnable"
}

func newStateKind(k waits.Kind) stateKind {
	return stateKind{k.String(), waiting.ClassOf(k).String()}
}

type causeRow struct {
	stateKind
	Took     float64   `json:"took"`               // duration
	Function string    `json:"function,omitempty"` // function that waited or ran
	Via      string    `json:"via,omitempty"`      // outermost function of the library it called
	Span     string    `json:"span,omitempty"`     // id of the span, 16 hex digits
	By       *partyRow `json:"by,omitempty"`       // ended the wait
	Request  *partyRow `json:"request,omitempty"`  // another request, which waited or ran
}

type goroutineRow struct {
	ID        uint64        `json:"id"`            // id of the goroutine
	Function  string        `json:"function"`      // first function of the goroutine
	Intervals []intervalRow `json:"intervals"`     // in the order of time
	Cut       int           `json:"cut,omitempty"` // short intervals left out
}

type intervalRow struct {
	stateKind
	Start float64   `json:"start"`           // since the start of the request
	Took  float64   `json:"took"`            // duration
	Span  string    `json:"span"`            // id of the span, 16 hex digits
	In    string    `json:"in,omitempty"`    // function outside the standard library
	Stack *int      `json:"stack,omitempty"` // index in Stacks
	By    *partyRow `json:"by,omitempty"`    // ended the wait, or had the processor
}

type partyRow struct {
	Goroutine uint64 `json:"goroutine"`          // id of a goroutine
	Function  string `json:"function,omitempty"` // function of the goroutine
	Request   string `json:"request,omitempty"`  // name of the goroutine's request
	Trace     string `json:"trace,omitempty"`    // trace id of the request, if the page can show it
	Span      string `json:"span,omitempty"`     // id of the request's root span, like Trace
	Own       bool   `json:"own,omitempty"`      // the goroutine worked for this same request
	Stack     *int   `json:"stack,omitempty"`    // index in Stacks; for intervals only
}

type frameRow struct {
	Function string `json:"function"`       // name of the function
	File     string `json:"file,omitempty"` // source file
	Line     int    `json:"line,omitempty"` // line in the file
}

// A waitRow sums up the waits of a span with the same kind, function and party.
type waitRow struct {
	stateKind
	Took  float64   `json:"took"`         // sum of the durations
	Count int       `json:"count"`        // number of waits
	In    string    `json:"in,omitempty"` // function outside the standard library
	By    *partyRow `json:"by,omitempty"` // ended the longest wait
}

// A sharedStack identifies a stack by its memory. Most intervals share their stacks.
type sharedStack struct {
	first *waits.Frame
	len   int
}

// Has reports whether the page can show the request with an id.
type Has func(local.ID) bool

// A waitsBuilder builds the waits of a request.
type waitsBuilder struct {
	q      requests.Request
	l      *limits
	d      *waitsDetail
	frames map[waits.Frame]int  // indices in d.Frames
	stacks map[string]int       // indices in d.Stacks, by the stacks' JSON
	shared map[sharedStack]*int // indices in d.Stacks; nil for a stack left out
	full   bool                 // a stack was left out: no further stacks
	known  map[local.ID]bool    // results of has
	has    Has

	functions map[string]int // indices in d.Functions
	parties   map[waitEnd]int
}

func newWaitsBuilder(q requests.Request, l *limits, has Has) *waitsBuilder {
	return &waitsBuilder{
		q: q, l: l, has: has, d: &waitsDetail{},
		frames: map[waits.Frame]int{}, stacks: map[string]int{}, shared: map[sharedStack]*int{},
		known:     map[local.ID]bool{},
		functions: map[string]int{}, parties: map[waitEnd]int{},
	}
}

func (b *waitsBuilder) bars(rows []spanRow, all []requests.Row) {
	segments := requests.Segments(b.q, 0, b.q.Duration(),
		max(minColumns, min(maxColumns, maxSegments/max(1, len(rows)))))
	waits := requests.Waits(b.q)
	for i := range rows {
		id := all[i].Span.SpanID
		rows[i].Segments = b.segments(segments[id])
		longest := waits[id][:min(len(waits[id]), maxSpanWaits)]
		rows[i].WaitsCut = len(waits[id]) - len(longest)
		for _, w := range longest {
			row := waitRow{newStateKind(w.Kind), ms(w.Total), w.Count, Shown(w.Function),
				b.party(w.By)}
			if !b.l.take(row) {
				rows[i].WaitsCut++
				continue
			}
			rows[i].Waits = append(rows[i].Waits, row)
		}
	}
}

func (b *waitsBuilder) detail() *waitsDetail {
	r := b.q.Waits
	b.d.Sentence, b.d.Dropped = block(r.Sentence()), waiting.Dropped(r)
	for _, c := range r.Causes[:min(len(r.Causes), maxCauses)] {
		row := causeRow{stateKind: newStateKind(c.Kind), Took: ms(c.Duration),
			Function: Shown(c.Function), Via: Shown(c.Via), By: b.party(c.By),
			Request: b.party(c.In)}
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

// longest returns a function that reports true for the n longest intervals. The caller must pass
// the duration of each interval once.
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
	equal := n - slices.Index(all, least) // intervals of this length among the n longest
	return func(d time.Duration) bool {
		if d == least {
			equal--
			return equal >= 0
		}
		return d > least
	}
}

func (b *waitsBuilder) interval(i *waits.Interval) intervalRow {
	row := intervalRow{
		stateKind: newStateKind(i.Kind), Start: ms(i.Start), Took: ms(i.Duration()),
		Span: i.SpanID.String(), In: Shown(waiting.Function(i)), Stack: b.stack(i.Stack),
		By: b.party(i.By),
	}
	if row.By != nil {
		row.By.Stack = b.stack(i.By.Stack)
	}
	return row
}

// party returns the row of a party, without a stack, or nil for no party.
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
	shown, known := b.known[id]
	if !known {
		shown = b.has(id)
		b.known[id] = shown
	}
	if shown {
		row.Trace, row.Span = p.TraceID.String(), p.RootID.String()
	}
	return row
}

// stack returns the index of a stack, or nil for an empty stack or lack of room.
func (b *waitsBuilder) stack(stack []waits.Frame) *int {
	if len(stack) == 0 {
		return nil
	}
	key := sharedStack{&stack[0], len(stack)}
	if at, known := b.shared[key]; known || b.full {
		return at
	}
	at := b.newStack(stack)
	b.shared[key] = at
	return at
}

func (b *waitsBuilder) newStack(stack []waits.Frame) *int {
	rows := make([]int, 0, min(len(stack), maxStack))
	for _, f := range stack[:min(len(stack), maxStack)] {
		at, known := b.frames[f]
		if !known {
			row := frameRow{Shown(f.Function), Shown(f.File), f.Line}
			if b.full = !b.l.take(row); b.full {
				return nil
			}
			at = len(b.d.Frames)
			b.frames[f] = at
			b.d.Frames = append(b.d.Frames, row)
		}
		rows = append(rows, at)
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

package view

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/observer"
)

// Bounds of one request's data on the page. Span limits allow far more than a reader can use.
const (
	maxRows       = 512
	maxMarks      = 2000
	maxAttributes = 4000 // of all spans and marks
	maxHot        = 8    // functions of a span

	maxDetail = 2 << 20 // bytes of it all, as JSON: first of the spans, then of the rest
)

// A RequestDetail is one request with all that is shown of it.
type RequestDetail struct {
	requestRow
	Rows     []spanRow      `json:"rows" null:"true"`     // a tree, each below its parent
	Missing  int            `json:"missing,omitempty"`    // spans over the limit of a request
	Cut      cut            `json:"cut"`                  // numbers of left out parts
	Resource []attributeRow `json:"resource" null:"true"` // attributes of the service
	Session  uint32         `json:"session,omitempty"`    // that has samples of it
	Engine   string         `json:"engine,omitempty"`     // that took them
	Interval float64        `json:"interval,omitempty"`   // time between two samples of the engine
	Groups   []groupRow     `json:"groups,omitempty"`     // equal rows
	Path     []pathRow      `json:"path"`                 // critical, by time
	Shares   []shareRow     `json:"shares"`               // of the critical path, the largest first
	Waits    *waitsDetail   `json:"waits,omitempty"`      // nil without an execution trace of it

	Files []Format[SampledRequest] `json:"files"` // formats of its files
}

// cut counts what was left out.
type cut struct {
	Rows       int `json:"rows,omitempty"`       // spans
	Marks      int `json:"marks,omitempty"`      // marks
	Attributes int `json:"attributes,omitempty"` // attributes
	Hot        int `json:"hot,omitempty"`        // functions
	Waits      int `json:"waits,omitempty"`      // intervals of goroutines, and parts of bars
	Path       int `json:"path,omitempty"`       // parts of the critical path, and groups
}

type spanRow struct {
	ID     string  `json:"id"`               // id of the span, 16 hex digits
	Depth  int     `json:"depth"`            // 0 for the root span
	Name   string  `json:"name"`             // name
	Kind   string  `json:"kind"`             // "server", "client", … or "measure"
	Scope  string  `json:"scope"`            // instrumentation that made the span
	Orphan bool    `json:"orphan,omitempty"` // its parent is missing
	Start  float64 `json:"start"`            // since the request's
	Took   float64 `json:"took"`             // duration
	Failed bool    `json:"failed,omitempty"` // it ended with an error
	Error  string  `json:"error,omitempty"`  // description of the error
	// attributes, in the order in which they were set
	Attributes []attributeRow `json:"attributes,omitempty"`
	Marks      []markRow      `json:"marks,omitempty"`    // in the order of time
	Sampled    float64        `json:"sampled,omitempty"`  // what Hot and others add up to
	Samples    int            `json:"samples,omitempty"`  // samples of the profiler in it
	Hot        []hotRow       `json:"hot,omitempty"`      // functions with the most samples
	Segments   []segmentRow   `json:"segments,omitempty"` // of its goroutine, by time
	// of all goroutines that worked for it, the longest first
	Waits    []waitRow `json:"waits,omitempty"`
	WaitsCut int       `json:"waits_cut,omitempty"` // shorter rows of Waits left out
}

type markRow struct {
	Name string  `json:"name"` // name
	At   float64 `json:"at"`   // since the start of the request
	// attributes, in the order in which they were set
	Attributes []attributeRow `json:"attributes,omitempty"`
}

type attributeRow struct {
	Key   string `json:"key"`   // key
	Value string `json:"value"` // value
}

type hotRow struct {
	Name string  `json:"name"` // name
	Time float64 `json:"time"` // CPU time by samples, or wall time with the engine wall
}

// NewRequestDetail returns all that the page shows of a request. Has reports whether the page has
// another request.
func NewRequestDetail(q SampledRequest, has Has) RequestDetail {
	d := RequestDetail{requestRow: newRequestRow(q.Root), Missing: q.Dropped}
	d.Files = offered(RequestFormats, q)
	if q.Session != nil {
		d.Session = uint32(q.Session.ID())
		d.Engine = Shown(string(q.Session.Trace().Engine))
		d.Interval = observer.Milliseconds(q.Session.Trace().Interval)
	}
	l := limits{marks: maxMarks, attributes: maxAttributes, bytes: maxDetail}
	rows := requests.Rows(q.Request)
	for i, r := range rows {
		row := newSpanRow(q.Request, r)
		if i == maxRows || !l.take(row) {
			l.cut.Rows = len(rows) - i
			break
		}
		d.Rows = append(d.Rows, row)
	}
	d.Groups = l.groups(rows, len(d.Rows))
	d.Path, d.Shares = l.path(q.Request, rows[:len(d.Rows)])
	if q.Waits != nil {
		b := newWaitsBuilder(q.Request, &l, has)
		b.bars(d.Rows, rows)
		d.Waits = b.detail()
		if q.Session != nil {
			d.Waits.Contradictions = requests.Contradictions(q.Request, q.Session.Trace())
		}
	}
	d.Resource = l.list(q.Root.Group.Resource().Attributes())
	for i := range d.Rows {
		id := rows[i].Span.SpanID
		l.fill(&d.Rows[i], q.Request, rows[i].Span, q.Hottest[id])
	}
	d.Cut = l.cut
	return d
}

func newSpanRow(q requests.Request, r requests.Row) spanRow {
	s := r.Span
	row := spanRow{
		ID:     s.SpanID.String(),
		Depth:  r.Depth,
		Name:   Shown(r.Name()),
		Kind:   s.Kind.String(),
		Scope:  Shown(s.Group.Scope().Name),
		Orphan: r.Orphan,
		Start:  observer.Milliseconds(s.Start.Sub(q.Root.Start)),
		Took:   observer.Milliseconds(s.Duration()),
		Failed: s.Status.Code == codes.Error,
		Error:  block(s.Status.Description),
	}
	if row.Scope == scope.Name && s.Kind == trace.SpanKindInternal {
		row.Kind = "measure"
	}
	return row
}

// limits are what may still be told of a request, and what was left out.
type limits struct {
	marks, attributes, bytes int
	cut                      cut
}

// take tells whether there is room for v.
func (l *limits) take(v any) bool {
	b, err := json.Marshal(v)
	if err != nil || len(b) >= l.bytes { // with a comma
		return false
	}
	l.bytes -= len(b) + 1
	return true
}

// fill adds the parts of a span.
func (l *limits) fill(row *spanRow, q requests.Request, s *otlpenc.Span,
	hot *requests.SpanProfile) {
	row.Attributes = l.list(s.Attributes)
	for _, e := range s.Events {
		m := markRow{Name: Shown(e.Name), At: observer.Milliseconds(e.Time.Sub(q.Root.Start))}
		if l.marks == 0 || !l.take(m) {
			l.cut.Marks++
			continue
		}
		l.marks--
		m.Attributes = l.list(e.Attributes)
		row.Marks = append(row.Marks, m)
	}
	if hot == nil {
		return
	}
	row.Sampled, row.Samples = observer.Milliseconds(hot.Total), hot.Samples
	for _, f := range hot.Functions[:min(maxHot, len(hot.Functions))] {
		h := hotRow{Name: Shown(f.Name), Time: observer.Milliseconds(f.Time)}
		if !l.take(h) {
			l.cut.Hot++
			continue
		}
		row.Hot = append(row.Hot, h)
	}
}

func (l *limits) list(attrs []attribute.KeyValue) []attributeRow {
	var rows []attributeRow
	for _, kv := range attrs {
		a := attributeRow{Key: Shown(string(kv.Key)), Value: block(kv.Value.String())}
		if l.attributes == 0 || !l.take(a) {
			l.cut.Attributes++
			continue
		}
		l.attributes--
		rows = append(rows, a)
	}
	return rows
}

// maxShares is the number of names that have a share of the critical path on the page.
const maxShares = 8

// A pathRow is a part of the critical path: see CriticalPath of internal/requests.
type pathRow struct {
	Row   int     `json:"row"`   // index in RequestDetail.Rows
	Start float64 `json:"start"` // since the epoch of Unix
	Took  float64 `json:"took"`  // duration
}

// A shareRow is what spans of one name have of the critical path.
type shareRow struct {
	Name  string  `json:"name"`  // name
	Spans int     `json:"spans"` // of the name, on the path
	Took  float64 `json:"took"`  // duration
	Row   string  `json:"row"`   // the id of the span that has most of it
}

// path returns the critical path in the rows that the page has, and its largest shares.
func (l *limits) path(q requests.Request, rows []requests.Row) ([]pathRow, []shareRow) {
	path := requests.CriticalPath(q)
	at := map[*otlpenc.Span]int{}
	for i, r := range rows {
		at[r.Span] = i
	}
	parts := []pathRow{}
	for _, p := range path {
		i, has := at[p.Span]
		row := pathRow{i, observer.Milliseconds(p.Start), observer.Milliseconds(p.End - p.Start)}
		if !has || !l.take(row) {
			l.cut.Path++
			continue
		}
		parts = append(parts, row)
	}
	shares := []shareRow{}
	all := requests.PathShares(path)
	for _, s := range all[:min(len(all), maxShares)] {
		row := shareRow{Shown(s.Name), s.Spans, observer.Milliseconds(s.Time),
			s.Longest.SpanID.String()}
		if l.take(row) {
			shares = append(shares, row)
		}
	}
	return parts, shares
}

// A groupRow is equal rows, which the page shows as one: see Groups of internal/requests.
type groupRow struct {
	// indices in RequestDetail.Rows; some may be left out there
	Rows    []int   `json:"rows"`
	Count   int     `json:"count"`            // spans, also those that are left out
	Below   int     `json:"below,omitempty"`  // spans
	Took    float64 `json:"took"`             // in all
	Failed  int     `json:"failed,omitempty"` // it ended with an error
	Slowest string  `json:"slowest"`          // the span's id
	Longest float64 `json:"longest"`          // what that one took
}

// groups returns the groups of which the page has a row. It has the first n rows.
func (l *limits) groups(rows []requests.Row, n int) []groupRow {
	var all []groupRow
	for _, g := range requests.Groups(rows) {
		slowest := rows[g.Slowest].Span
		row := groupRow{Count: len(g.Rows), Below: g.Below, Took: observer.Milliseconds(g.Total),
			Failed:  g.Failed,
			Slowest: slowest.SpanID.String(), Longest: observer.Milliseconds(slowest.Duration())}
		for _, i := range g.Rows {
			if i < n {
				row.Rows = append(row.Rows, i)
			}
		}
		if len(row.Rows) == 0 {
			continue
		}
		if !l.take(row) {
			l.cut.Path++
			continue
		}
		all = append(all, row)
	}
	return all
}

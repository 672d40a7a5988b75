package view

import (
	"encoding/json"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/scope"
)

// Bounds of a RequestDetail. The limits of a span allow far more than a reader can use.
const (
	maxRows       = 640 // of a request with the default limit, and a quarter more
	maxMarks      = 2000
	maxAttributes = 4000 // of all spans and marks
	maxHot        = 8    // functions of a span
	maxShares     = 8    // names with a share of the critical path

	maxDetail = 2 << 20 // bytes of JSON; spans take room first
)

// A RequestDetail is a request with all its parts.
type RequestDetail struct {
	requestRow
	Rows     []spanRow      `json:"rows" null:"true"`     // a tree, each row below its parent
	Missing  int            `json:"missing,omitempty"`    // spans over the limit of a request
	Cut      cut            `json:"cut"`                  // numbers of parts left out
	Resource []attributeRow `json:"resource" null:"true"` // attributes of the service
	Session  uint32         `json:"session,omitempty"`    // id of a session with samples
	Engine   string         `json:"engine,omitempty"`     // engine of the session's sampler
	Interval float64        `json:"interval,omitempty"`   // time between two samples of the engine
	Groups   []groupRow     `json:"groups,omitempty"`     // equal rows
	Path     []pathRow      `json:"path"`                 // critical path, by time
	Shares   []shareRow     `json:"shares"`               // of the critical path, the largest first
	Waits    *waitsDetail   `json:"waits,omitempty"`      // missing without an execution trace
	NoWaits  string         `json:"no_waits,omitempty"`   // the reason why waits is missing
	Inside   string         `json:"inside,omitempty"`     // root span that sent this inner request

	Files []Format[SampledRequest] `json:"files"` // formats of the request's files
}

// A cut counts parts that were left out for lack of room.
type cut struct {
	Rows       int `json:"rows,omitempty"`       // spans
	Marks      int `json:"marks,omitempty"`      // marks
	Attributes int `json:"attributes,omitempty"` // attributes
	Hot        int `json:"hot,omitempty"`        // functions
	Waits      int `json:"waits,omitempty"`      // intervals of goroutines, and parts of bars
	Path       int `json:"path,omitempty"`       // parts of the critical path, and groups
}

type spanRow struct {
	ID         string         `json:"id"`                   // id of the span, 16 hex digits
	Depth      int            `json:"depth"`                // 0 for the root span
	Name       string         `json:"name"`                 // name of the span
	Kind       string         `json:"kind"`                 // "server", "client", … or "measure"
	Scope      string         `json:"scope"`                // instrumentation that made the span
	Orphan     bool           `json:"orphan,omitempty"`     // the parent is missing
	Start      float64        `json:"start"`                // since the start of the request
	Took       float64        `json:"took"`                 // duration
	Failed     bool           `json:"failed,omitempty"`     // the span ended with an error
	Error      string         `json:"error,omitempty"`      // description of the error
	Attributes []attributeRow `json:"attributes,omitempty"` // in the order of their setting
	Marks      []markRow      `json:"marks,omitempty"`      // in the order of time
	Sampled    float64        `json:"sampled,omitempty"`    // time of all functions, Hot or not
	Samples    int            `json:"samples,omitempty"`    // samples of the profiler in the span
	Several    bool           `json:"several,omitempty"`    // samples of several goroutines at once
	Hot        []hotRow       `json:"hot,omitempty"`        // functions with the most samples
	Segments   []segmentRow   `json:"segments,omitempty"`   // of the span's goroutine, by time
	Waits      []waitRow      `json:"waits,omitempty"`      // of all goroutines, longest first
	WaitsCut   int            `json:"waits_cut,omitempty"`  // shorter rows of Waits left out
}

type markRow struct {
	Name       string         `json:"name"`                 // name of the mark
	At         float64        `json:"at"`                   // since the start of the request
	Attributes []attributeRow `json:"attributes,omitempty"` // in the order of their setting
}

type attributeRow struct {
	Key   string `json:"key"`   // key of the attribute
	Value string `json:"value"` // value as text
}

type hotRow struct {
	Name string  `json:"name"` // name of the function
	Time float64 `json:"time"` // CPU time by samples, or wall time with the engine wall
}

// NewRequestDetail returns the page's data of a request. has reports whether the page can display
// the request with the given id.
func NewRequestDetail(q SampledRequest, has Has) RequestDetail {
	d := RequestDetail{
		requestRow: newRequestRow(q.Root), Missing: q.Dropped, NoWaits: string(q.NoWaits),
		Files: available(RequestFormats, q),
	}
	if q.Inside.IsValid() {
		d.Inside = q.Inside.String()
	}
	if q.Session != nil {
		d.Session = uint32(q.Session.ID())
		d.Engine = Shown(string(q.Session.Trace().Engine))
		d.Interval = ms(q.Session.Trace().Interval)
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
	d.Resource = l.rows(q.Root.Group.Resource().Attributes())
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
		ID: s.SpanID.String(), Depth: r.Depth, Name: Shown(r.Name()), Kind: s.Kind.String(),
		Scope: Shown(s.Group.Scope().Name), Orphan: r.Orphan,
		Start: ms(s.Start.Sub(q.Root.Start)), Took: ms(s.Duration()),
		Failed: s.Status.Code == codes.Error, Error: block(s.Status.Description),
	}
	if row.Scope == scope.Name && s.Kind == trace.SpanKindInternal {
		row.Kind = "measure"
	}
	return row
}

// limits hold the remaining room for a request's data, and count the parts left out.
type limits struct {
	marks, attributes, bytes int
	cut                      cut
}

// take reserves room for v as JSON. It returns false if no room is left.
func (l *limits) take(v any) bool {
	b, err := json.Marshal(v)
	if err != nil || len(b) >= l.bytes { // a comma takes one byte
		return false
	}
	l.bytes -= len(b) + 1
	return true
}

// fill adds attributes, marks and functions to the row of a span. hot may be nil.
func (l *limits) fill(
	row *spanRow, q requests.Request, s *otlpenc.Span, hot *requests.SpanProfile,
) {
	row.Attributes = l.rows(s.Attributes)
	for _, e := range s.Events {
		m := markRow{Name: Shown(e.Name), At: ms(e.Time.Sub(q.Root.Start))}
		if l.marks == 0 || !l.take(m) {
			l.cut.Marks++
			continue
		}
		l.marks--
		m.Attributes = l.rows(e.Attributes)
		row.Marks = append(row.Marks, m)
	}
	if hot == nil {
		return
	}
	row.Sampled, row.Samples, row.Several = ms(hot.Total), hot.Samples, hot.Several
	for _, f := range hot.Functions[:min(maxHot, len(hot.Functions))] {
		h := hotRow{Name: Shown(f.Name), Time: ms(f.Time)}
		if !l.take(h) {
			l.cut.Hot++
			continue
		}
		row.Hot = append(row.Hot, h)
	}
}

func (l *limits) rows(attrs []attribute.KeyValue) []attributeRow {
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

// A pathRow is a part of the critical path: see CriticalPath of internal/requests.
type pathRow struct {
	Row   int     `json:"row"`   // index in RequestDetail.Rows
	Start float64 `json:"start"` // since the start of the request
	Took  float64 `json:"took"`  // duration
}

// A shareRow is the share of the critical path that spans of one name occupy.
type shareRow struct {
	Name  string  `json:"name"`  // name of the spans
	Spans int     `json:"spans"` // spans of this name on the path
	Took  float64 `json:"took"`  // time on the path
	Row   string  `json:"row"`   // id of the span with the largest part
}

// path returns the critical path, without spans outside rows, and the largest shares of the path.
func (l *limits) path(q requests.Request, rows []requests.Row) ([]pathRow, []shareRow) {
	path := requests.CriticalPath(q)
	at := map[*otlpenc.Span]int{}
	for i, r := range rows {
		at[r.Span] = i
	}
	parts := []pathRow{}
	for _, p := range path {
		i, ok := at[p.Span]
		row := pathRow{i, ms(p.Start), ms(p.End - p.Start)}
		if !ok || !l.take(row) {
			l.cut.Path++
			continue
		}
		parts = append(parts, row)
	}
	shares := []shareRow{}
	all := requests.PathShares(path)
	for _, s := range all[:min(len(all), maxShares)] {
		row := shareRow{Shown(s.Name), s.Spans, ms(s.Time), s.Longest.SpanID.String()}
		if l.take(row) {
			shares = append(shares, row)
		}
	}
	return parts, shares
}

// A groupRow joins equal rows, which the page shows as one: see Groups of internal/requests.
type groupRow struct {
	Rows    []int   `json:"rows"`             // indices in RequestDetail.Rows, if not left out
	Count   int     `json:"count"`            // spans, including spans left out
	Below   int     `json:"below,omitempty"`  // spans below these spans
	Took    float64 `json:"took"`             // sum of the durations
	Failed  int     `json:"failed,omitempty"` // spans that ended with an error
	Slowest string  `json:"slowest"`          // id of the slowest span
	Longest float64 `json:"longest"`          // duration of the slowest span
}

// groups returns the groups with a row among the first n rows, which the page shows.
func (l *limits) groups(rows []requests.Row, n int) []groupRow {
	var all []groupRow
	for _, g := range requests.Groups(rows) {
		slowest := rows[g.Slowest].Span
		row := groupRow{
			Count: len(g.Rows), Below: g.Below, Failed: g.Failed,
			Took: ms(g.Total), Slowest: slowest.SpanID.String(), Longest: ms(slowest.Duration()),
		}
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

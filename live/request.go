package live

import (
	"encoding/json"
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// Bounds of one request's data on the page. Span limits allow far more than a reader can use.
const (
	maxRows       = 512
	maxMarks      = 2000
	maxAttributes = 4000 // of all spans and marks
	maxHot        = 8    // functions of a span

	maxDetail = 2 << 20 // bytes of it all, as JSON: first of the spans, then of the rest
)

// A requestDetail is one request with all that is shown of it.
type requestDetail struct {
	requestRow
	Rows     []spanRow      `json:"rows"` // a tree, each below its parent
	Missing  int            `json:"missing,omitempty"`
	Cut      cut            `json:"cut"`
	Resource []attributeRow `json:"resource"`
	Session  uint32         `json:"session,omitempty"` // that has samples of it
	Engine   string         `json:"engine,omitempty"`  // that took them
	Interval float64        `json:"interval,omitempty"`
	Groups   []groupRow     `json:"groups,omitempty"` // equal rows
	Path     []pathRow      `json:"path"`             // critical, by time
	Shares   []shareRow     `json:"shares"`           // of the critical path, the largest first
	Waits    *waitsDetail   `json:"waits,omitempty"`  // nil without an execution trace of it

	Files []format[sampledRequest] `json:"files"` // formats of its files
}

// cut counts what was left out.
type cut struct {
	Rows       int `json:"rows,omitempty"`
	Marks      int `json:"marks,omitempty"`
	Attributes int `json:"attributes,omitempty"`
	Hot        int `json:"hot,omitempty"`   // functions
	Waits      int `json:"waits,omitempty"` // intervals of goroutines, and parts of bars
	Path       int `json:"path,omitempty"`  // parts of the critical path, and groups
}

type spanRow struct {
	ID         string         `json:"id"`
	Depth      int            `json:"depth"`
	Name       string         `json:"name"`
	Kind       string         `json:"kind"` // "server", "client", … or "measure"
	Scope      string         `json:"scope"`
	Orphan     bool           `json:"orphan,omitempty"`
	Start      float64        `json:"start"` // since the request's
	Took       float64        `json:"took"`
	Failed     bool           `json:"failed,omitempty"`
	Error      string         `json:"error,omitempty"`
	Attributes []attributeRow `json:"attributes,omitempty"`
	Marks      []markRow      `json:"marks,omitempty"`
	Sampled    float64        `json:"sampled,omitempty"` // what Hot and others add up to
	Samples    int            `json:"samples,omitempty"`
	Hot        []hotRow       `json:"hot,omitempty"`
	States     []segmentRow   `json:"states,omitempty"` // of its goroutine, by time
	// of all goroutines that worked for it, the longest first
	Waits    []waitRow `json:"waits,omitempty"`
	WaitsCut int       `json:"waits_cut,omitempty"` // shorter rows of Waits left out
}

type markRow struct {
	Name       string         `json:"name"`
	At         float64        `json:"at"`
	Attributes []attributeRow `json:"attributes,omitempty"`
}

type attributeRow struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type hotRow struct {
	Name string  `json:"name"`
	Time float64 `json:"time"`
}

func (h *handler) request(w http.ResponseWriter, r *http.Request) {
	s, ok := h.snapshot(r.PathValue("trace"), r.PathValue("span"))
	if !ok {
		refuseRequest(w)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if headOnly(w, r) {
		return
	}
	h.opened.Add(s)
	answer(w, h.detail(h.waits.With(s.Request())))
}

func refuseRequest(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, errNoRequest.Error())
}

func (h *handler) detail(q requests.Request) requestDetail {
	d := requestDetail{requestRow: newRequestRow(q.Root), Missing: q.Dropped}
	s, hottest := h.sampled(q)
	if s != nil {
		d.Session = uint32(s.ID())
		d.Engine = shown(string(s.Trace().Engine))
		d.Interval = observer.Milliseconds(s.Trace().Interval)
	}
	d.Files = offered(requestFormats, newSampledRequest(q, s, hottest))
	l := limits{marks: maxMarks, attributes: maxAttributes, bytes: maxDetail}
	rows := requests.Rows(q)
	for i, r := range rows {
		row := newSpanRow(q, r)
		if i == maxRows || !l.take(row) {
			l.cut.Rows = len(rows) - i
			break
		}
		d.Rows = append(d.Rows, row)
	}
	d.Groups = l.groups(rows, len(d.Rows))
	d.Path, d.Shares = l.path(q, rows[:len(d.Rows)])
	if q.Waits != nil {
		b := h.waitsBuilder(q, &l)
		b.bars(d.Rows, rows)
		d.Waits = b.detail()
		if s != nil {
			d.Waits.Contradictions = requests.Contradictions(q, s.Trace())
		}
	}
	d.Resource = l.list(q.Root.Group.Resource().Attributes())
	for i := range d.Rows {
		l.fill(&d.Rows[i], q, rows[i].Span, hottest[rows[i].Span.SpanID])
	}
	d.Cut = l.cut
	return d
}

// sampled returns the newest session that has samples of the request, and the hot functions of
// its spans. It returns nil if there is no such session, or if the client may not see it.
func (h *handler) sampled(q requests.Request) (*sessions.Session,
	map[trace.SpanID]*requests.SpanProfile) {
	if h.refused() != nil {
		return nil, nil
	}
	for _, status := range slices.Backward(h.recorder.Statuses()) {
		if status.State != sessions.Ready || q.Root.End.Before(status.Started) {
			continue
		}
		s, err := h.recorder.RemoteSession(status.ID)
		if err != nil || s.Trace() == nil || q.Root.Start.After(s.Started().Add(s.Length())) {
			continue
		}
		if hottest := requests.SpanProfiles(q, s.Trace()); len(hottest) > 0 ||
			requests.Contradictions(q, s.Trace()) > 0 {
			return s, hottest
		}
	}
	return nil, nil
}

func newSpanRow(q requests.Request, r requests.Row) spanRow {
	s := r.Span
	row := spanRow{
		ID:     s.SpanID.String(),
		Depth:  r.Depth,
		Name:   shown(r.Name()),
		Kind:   s.Kind.String(),
		Scope:  shown(s.Group.Scope().Name),
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
		m := markRow{Name: shown(e.Name), At: observer.Milliseconds(e.Time.Sub(q.Root.Start))}
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
		h := hotRow{Name: shown(f.Name), Time: observer.Milliseconds(f.Time)}
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
		a := attributeRow{Key: shown(string(kv.Key)), Value: block(kv.Value.String())}
		if l.attributes == 0 || !l.take(a) {
			l.cut.Attributes++
			continue
		}
		l.attributes--
		rows = append(rows, a)
	}
	return rows
}

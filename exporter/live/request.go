package live

import (
	"net/http"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling/sessions"
)

// What is told of one request at most. A process keeps as much of it as its span limits
// allow, which is far more than anybody reads.
const (
	maxRows       = 512
	maxMarks      = 2000
	maxAttributes = 4000 // of all spans and marks
	maxHot        = 8    // functions of a span
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
}

// cut counts what was left out.
type cut struct {
	Rows       int `json:"rows,omitempty"`
	Marks      int `json:"marks,omitempty"`
	Attributes int `json:"attributes,omitempty"`
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

// measureScope is the instrumentation scope of what the bridge makes of measures.
const measureScope = "github.com/perfline/perfline"

func (h *handler) request(w http.ResponseWriter, r *http.Request) {
	q, ok := h.find(r.PathValue("trace"), r.PathValue("span"))
	if !ok {
		refuseRequest(w)
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if headOnly(w, r) {
		return
	}
	h.opened.add(requestID{q.TraceID(), q.Root.SpanContext().SpanID()}, q)
	answer(w, h.detail(q))
}

func refuseRequest(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, "this request is not kept, or no more: newer and slower ones have its place")
}

func (h *handler) picture(w http.ResponseWriter, r *http.Request) {
	q, ok := h.find(r.PathValue("trace"), r.PathValue("span"))
	if !ok {
		refuseRequest(w)
		return
	}
	attach(w, "image/svg+xml", "request-"+q.TraceID().String()+".svg")
	if headOnly(w, r) {
		return
	}
	_ = q.WriteSVG(w) // the client may be gone
}

// attach has a browser save what comes.
func attach(w http.ResponseWriter, contentType, name string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

func (h *handler) detail(q exporter.Request) requestDetail {
	d := requestDetail{requestRow: newRequestRow(q.Root), Missing: q.Dropped}
	s, hottest := h.sampled(q)
	if s != nil {
		d.Session = uint32(s.ID())
		d.Engine = shown(s.Trace().Engine)
		d.Interval = observer.Milliseconds(s.Trace().Interval)
	}
	l := limits{marks: maxMarks, attributes: maxAttributes}
	rows := q.Rows()
	if len(rows) > maxRows {
		d.Cut.Rows = len(rows) - maxRows
		rows = rows[:maxRows]
	}
	for _, r := range rows {
		d.Rows = append(d.Rows, l.row(q, r, hottest[r.Span.SpanContext().SpanID()]))
	}
	d.Resource = l.list(q.Root.Resource().Attributes())
	d.Cut.Marks, d.Cut.Attributes = l.marksCut, l.attributesCut
	return d
}

// sampled is the newest session that has samples of the request, and what is hot in its
// spans; nil if there is none, or if who looks may not see it.
func (h *handler) sampled(q exporter.Request) (*sessions.Session, map[trace.SpanID]*exporter.Hot) {
	if h.refused() != nil {
		return nil, nil
	}
	for _, status := range slices.Backward(h.recorder.Statuses()) {
		if status.State != sessions.Ready || q.Root.EndTime().Before(status.Started) {
			continue
		}
		s, err := h.recorder.Session(status.ID)
		if err != nil || s.Trace() == nil || q.Root.StartTime().After(s.Started().Add(s.Length())) {
			continue
		}
		if hottest := q.Hottest(s.Trace()); len(hottest) > 0 {
			return s, hottest
		}
	}
	return nil, nil
}

// limits are what may still be told of a request.
type limits struct {
	marks, marksCut           int
	attributes, attributesCut int
}

func (l *limits) row(q exporter.Request, r exporter.Row, hot *exporter.Hot) spanRow {
	s := r.Span
	row := spanRow{
		ID:         s.SpanContext().SpanID().String(),
		Depth:      r.Depth,
		Name:       shown(s.Name()),
		Kind:       s.SpanKind().String(),
		Scope:      shown(s.InstrumentationScope().Name),
		Orphan:     r.Orphan,
		Start:      observer.Milliseconds(s.StartTime().Sub(q.Root.StartTime())),
		Took:       observer.Milliseconds(s.EndTime().Sub(s.StartTime())),
		Failed:     s.Status().Code == codes.Error,
		Error:      block(s.Status().Description),
		Attributes: l.list(s.Attributes()),
	}
	if row.Scope == measureScope && s.SpanKind() == trace.SpanKindInternal {
		row.Kind = "measure"
	}
	events := s.Events()
	if len(events) > l.marks {
		l.marksCut += len(events) - l.marks
		events = events[:l.marks]
	}
	l.marks -= len(events)
	for _, e := range events {
		row.Marks = append(row.Marks, l.mark(q, e))
	}
	if hot != nil {
		row.Sampled, row.Samples = observer.Milliseconds(hot.Total), hot.Samples
		for _, f := range hot.Functions[:min(maxHot, len(hot.Functions))] {
			row.Hot = append(row.Hot, hotRow{Name: shown(f.Name), Time: observer.Milliseconds(f.Time)})
		}
	}
	return row
}

func (l *limits) mark(q exporter.Request, e sdktrace.Event) markRow {
	return markRow{
		Name:       shown(e.Name),
		At:         observer.Milliseconds(e.Time.Sub(q.Root.StartTime())),
		Attributes: l.list(e.Attributes),
	}
}

func (l *limits) list(attrs []attribute.KeyValue) []attributeRow {
	if len(attrs) > l.attributes {
		l.attributesCut += len(attrs) - l.attributes
		attrs = attrs[:l.attributes]
	}
	l.attributes -= len(attrs)
	var rows []attributeRow
	for _, kv := range attrs {
		rows = append(rows, attributeRow{Key: shown(string(kv.Key)), Value: block(kv.Value.String())})
	}
	return rows
}

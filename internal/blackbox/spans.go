package blackbox

import (
	"cmp"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/otlpwire"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/record/mirror"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/scope"
)

// leftOutKey is the key of the number of entries of a request that the file did not have room for.
// OpenTelemetry's conventions define no such attribute.
const leftOutKey = "perfline.blackbox.left_out"

// A request is an open request as spans. Its parts that were open end at the last sign of life.
type request struct {
	d      *Death
	r      *mirror.Request
	export bool // for a backend, and not for a report, which has the runtime's text once
	root   local.Root
	all    []span
}

// A span is a span of a request, and whether an exporter needs it: other spans wait among the items
// of the file, or were exported.
type span struct {
	otlpenc.Snapshot

	exported bool
}

// spansOf returns a request as spans, for a backend or for a report. The root is the last one.
func (d *Death) spansOf(r *mirror.Request, export bool) *request {
	q := &request{d: d, r: r, export: export}
	exported := r.Flags&(mirror.Sampled|mirror.Kept) != 0
	root := span{exported: exported}
	root.Name, root.SpanKind = nameOf(r), trace.SpanKind(r.Kind)
	if !export {
		root.Name = pathOf(r)
	}
	if r.Flags&mirror.Cut != 0 {
		root.DroppedAttributeCount = 1 // at least
	}
	root.SpanContext, root.Parent = q.context(r.Span, false), trace.SpanContext{}
	if r.Parent != (mirror.SpanID{}) {
		root.Parent = q.context(r.Parent, r.Flags&mirror.Remote != 0)
	}
	root.StartTime, root.EndTime = d.Time(r.Start), d.Last
	root.Attributes = attributesOf(r.Attributes)
	if r.Route != "" {
		root.Attributes = append(root.Attributes, semconv.HTTPRoute(r.Route))
	}
	if r.LeftOut > 0 {
		root.Attributes = append(root.Attributes, attribute.Int(leftOutKey, r.LeftOut))
	}
	if r.Ended {
		root.EndTime = d.Time(r.End)
	}
	switch crashed := d.crashedIn(r); {
	case crashed:
		d.fail(&root)
		root.Events = append(root.Events, d.exception(export))
	case !r.Ended:
		d.fail(&root)
	case r.Flags&mirror.Failed != 0:
		root.Status.Code = codes.Error
	}
	at := map[mirror.SpanID]int{r.Span: -1} // the spans' places in q.all
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Kind == mirror.Mark {
			continue
		}
		s := q.child(i)
		s.exported = exported && e.Flags&mirror.Given == 0
		if e.Kind != mirror.Measure {
			at[e.Span] = len(q.all)
		}
		q.all = append(q.all, s)
	}
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Kind != mirror.Mark {
			continue
		}
		event := sdktrace.Event{Name: e.Name, Time: d.Time(e.Start),
			Attributes: attributesOf(e.Attributes)}
		if e.Flags&mirror.Cut != 0 {
			event.DroppedAttributeCount = 1 // at least
		}
		if n, ok := at[e.Parent]; ok && n >= 0 {
			q.all[n].Events = append(q.all[n].Events, event)
		} else {
			root.Events = append(root.Events, event)
		}
	}
	q.all = append(q.all, root)
	job := otlpenc.HasTrue(root.Attributes, record.JobKey)
	stream := otlpenc.HasTrue(root.Attributes, record.StreamKey)
	q.root = local.Root{
		TraceID: root.SpanContext.TraceID(), SpanID: root.SpanContext.SpanID(), Name: root.Name,
		Class:   local.ClassOf(root.SpanKind, root.Name, job, stream),
		Message: root.SpanKind != trace.SpanKindServer,
		Start:   root.StartTime, End: root.EndTime, Failed: root.Status.Code == codes.Error,
	}
	return q
}

// context returns a span context of the request's trace.
func (q *request) context(id mirror.SpanID, remote bool) trace.SpanContext {
	c := trace.SpanContextConfig{TraceID: trace.TraceID(q.r.Trace), SpanID: trace.SpanID(id),
		Remote: remote}
	if q.r.Flags&mirror.Sampled != 0 {
		c.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(c)
}

// child returns the span of an entry.
func (q *request) child(entry int) (s span) {
	e := &q.r.Entries[entry]
	id := e.Span
	if e.Kind == mirror.Measure { // has no id yet
		id = measureID(q.r, entry)
	}
	s.Name, s.SpanKind = e.Name, trace.SpanKindInternal
	s.SpanContext, s.Parent = q.context(id, false), q.context(e.Parent, false)
	s.StartTime, s.EndTime = q.d.Time(e.Start), q.d.Time(e.Start+e.Duration)
	s.Attributes = attributesOf(e.Attributes)
	if e.Flags&mirror.Cut != 0 {
		s.DroppedAttributeCount = 1 // at least
	}
	switch {
	case e.Kind == mirror.Open && !q.r.Ended:
		s.EndTime = q.d.Last
		q.d.fail(&s)
	case e.Kind == mirror.Open:
		s.EndTime = q.d.Last
	case e.Flags&mirror.Failed != 0:
		s.Status.Code = codes.Error
	}
	if s.EndTime.Before(s.StartTime) {
		s.EndTime = s.StartTime
	}
	return s
}

// measureID returns the id of a measure: the same one in each report.
func measureID(r *mirror.Request, entry int) (id mirror.SpanID) {
	const golden = 0x9e3779b97f4a7c15
	n := uint64(entry) + 1 //nolint:gosec // positive
	order.PutUint64(id[:], order.Uint64(r.Span[:])^n*golden)
	return id
}

// fail sets the status of a span that the end of the process ended.
func (d *Death) fail(s *span) {
	s.Status = sdktrace.Status{Code: codes.Error,
		Description: requests.ProcessEnded + string(d.Kind)}
	s.Attributes = append(s.Attributes, semconv.ErrorTypeKey.String(errorType(d.Kind)))
}

// errorType returns the attribute error.type for a kind, such as "memory_limit".
func errorType(k Kind) string { return strings.ReplaceAll(string(k), " ", "_") }

// crashedIn reports whether the goroutine that crashed worked for a request. A panic runs the
// deferred functions before the process ends, and so may have ended the goroutine's request.
func (d *Death) crashedIn(r *mirror.Request) bool {
	switch {
	case d.Crash == nil:
		return false
	case r.Ended:
		return d.Crash.Kind == Panic && r == d.unwound(d.Crash.Goroutine)
	}
	is := func(id uint64) bool {
		return id > 0 && (id == d.Crash.Goroutine || id == d.Crash.Creator)
	}
	if is(r.Goroutine) {
		return true
	}
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Kind == mirror.Open && is(e.Goroutine) {
			return true
		}
	}
	return false
}

// unwound returns the request of a goroutine that ended last, or nil if one is open there.
func (d *Death) unwound(goroutine uint64) (last *mirror.Request) {
	for i := range d.Open {
		switch r := &d.Open[i]; {
		case goroutine == 0 || r.Goroutine != goroutine:
		case !r.Ended:
			return nil
		case last == nil || cmp.Or(cmp.Compare(r.End, last.End),
			cmp.Compare(r.Start, last.Start)) > 0:
			last = r
		}
	}
	return last
}

// exception returns the event of a crash, as OpenTelemetry's conventions define it. Only a backend
// gets the stack.
func (d *Death) exception(stack bool) sdktrace.Event {
	e := sdktrace.Event{Name: semconv.ExceptionEventName, Time: d.Last}
	e.Attributes = []attribute.KeyValue{semconv.ExceptionType(string(d.Crash.Kind)),
		semconv.ExceptionMessage(d.Crash.Message)}
	if stack {
		e.Attributes = append(e.Attributes, semconv.ExceptionStacktrace(d.Words))
	}
	return e
}

// nameOf returns the name of a request, with its route if it is known.
func nameOf(r *mirror.Request) string {
	method, target, _ := strings.Cut(r.Name, " ")
	if r.Route != "" && (target == "" || strings.HasPrefix(target, "/")) {
		return method + " " + r.Route
	}
	return r.Name
}

// pathOf returns the name of a request. If the route is unknown, the name has the path.
func pathOf(r *mirror.Request) string {
	name := nameOf(r)
	if strings.ContainsAny(name, " /") {
		return name
	}
	for _, a := range r.Attributes {
		if path, ok := a.Value.(string); ok && a.Key == string(semconv.URLPathKey) {
			return name + " " + path
		}
	}
	return name
}

// attributesOf converts attributes of package mirror.
func attributesOf(list []mirror.Attribute) (all []attribute.KeyValue) {
	for _, a := range list {
		kv := attribute.KeyValue{Key: attribute.Key(a.Key)}
		switch v := a.Value.(type) {
		case string:
			kv.Value = attribute.StringValue(v)
		case int64:
			kv.Value = attribute.Int64Value(v)
		case float64:
			kv.Value = attribute.Float64Value(v)
		case bool:
			kv.Value = attribute.BoolValue(v)
		}
		all = append(all, kv)
	}
	return all
}

// group returns the group of the process's spans.
func (d *Death) group() *otlpenc.Group {
	return otlpenc.NewGroup(d.Facts.Resource, instrumentation.Scope{Name: scope.Name})
}

// encode returns the spans of the request. For a backend, it returns only what exporters need.
func (q *request) encode(g *otlpenc.Group) otlpenc.Spans {
	s := otlpenc.NewSpans(g, nil, 0)
	s.TraceID = q.root.TraceID
	for i := range q.all {
		if q.export && !q.all[i].exported {
			continue
		}
		s.Bytes = q.all[i].Append(s.Bytes, otlpenc.Extra{})
		s.Count++
	}
	return s.WithRoot(&q.root)
}

// spanID is the path of a span's id in an ExportTraceServiceRequest of OTLP: resource_spans,
// scope_spans, spans, span_id.
var spanID = []uint64{1<<3 | otlpwire.Prefixed, 2<<3 | otlpwire.Prefixed, 2<<3 | otlpwire.Prefixed,
	2<<3 | otlpwire.Prefixed}

// spooled returns the ids of the finished spans of the file.
func (d *Death) spooled() map[mirror.SpanID]bool {
	all := map[mirror.SpanID]bool{}
	var add func(b otlpwire.Fields, path []uint64)
	add = func(b otlpwire.Fields, path []uint64) {
		_ = b.Each(func(f otlpwire.Field) error { // the process wrote the items
			switch {
			case f.Tag != path[0]:
			case len(path) > 1:
				add(f.Body, path[1:])
			case len(f.Body) == len(mirror.SpanID{}):
				all[mirror.SpanID(f.Body)] = true
			}
			return nil
		})
	}
	for i := range d.Items {
		add(d.Items[i].Body, spanID)
	}
	return all
}

// Exported returns what a backend should get of the open requests: an item for each of them. Spans
// that wait among d.Items are left out, and requests that a backend has taken.
func (d *Death) Exported() (all []mirror.Item) {
	g, spooled := d.group(), d.spooled()
	for i := range d.Open {
		r := &d.Open[i]
		if r.Flags&mirror.Given != 0 || r.Ended && spooled[r.Span] {
			continue
		}
		q := d.spansOf(r, true)
		for j := range q.all {
			s := &q.all[j]
			s.exported = s.exported && !spooled[mirror.SpanID(s.SpanContext.SpanID())]
		}
		if s := q.encode(g); s.Count > 0 {
			body := otlpenc.AppendRequest(nil, []otlpenc.Spans{s})
			all = append(all, mirror.Item{Body: body, Spans: s.Count, Taken: r.Taken})
		}
	}
	return all
}

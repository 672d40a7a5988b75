package bridge

import (
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// mergedSpan is a span as the SDK ended it, with its marks among its events.
type mergedSpan struct {
	sdktrace.ReadOnlySpan
	events  []sdktrace.Event
	dropped int
}

func (s *mergedSpan) Events() []sdktrace.Event { return s.events }
func (s *mergedSpan) DroppedEvents() int       { return s.dropped }

// finishedSpan is a span the bridge made of a measure. The ReadOnlySpan inside
// is an empty one of the SDK's own: it answers whatever that interface may ask
// beyond the methods here, now or in a later release. There is one for each
// measure: it is kept small.
type finishedSpan struct {
	sdktrace.ReadOnlySpan

	name         string
	id           trace.SpanID
	parent       trace.SpanContext // of a local span
	start        time.Time
	length       time.Duration // not negative
	attrs        []attribute.KeyValue
	droppedAttrs int
	resource     *resource.Resource
	more         *extras // nil but for spans that marks.Start began
}

// extras are what only spans have that others could find in a context.
type extras struct {
	events        []sdktrace.Event
	droppedEvents int
	links         []sdktrace.Link
	status        sdktrace.Status
}

var _ sdktrace.ReadOnlySpan = (*finishedSpan)(nil)

func (s *finishedSpan) Name() string                                { return s.name }
func (s *finishedSpan) SpanContext() trace.SpanContext              { return s.parent.WithSpanID(s.id) }
func (s *finishedSpan) Parent() trace.SpanContext                   { return s.parent }
func (s *finishedSpan) SpanKind() trace.SpanKind                    { return trace.SpanKindInternal }
func (s *finishedSpan) StartTime() time.Time                        { return s.start }
func (s *finishedSpan) EndTime() time.Time                          { return s.start.Add(s.length) }
func (s *finishedSpan) Attributes() []attribute.KeyValue            { return s.attrs }
func (s *finishedSpan) DroppedAttributes() int                      { return s.droppedAttrs }
func (s *finishedSpan) DroppedLinks() int                           { return 0 }
func (s *finishedSpan) ChildSpanCount() int                         { return 0 }
func (s *finishedSpan) Resource() *resource.Resource                { return s.resource }
func (s *finishedSpan) InstrumentationScope() instrumentation.Scope { return scope }

func (s *finishedSpan) Events() []sdktrace.Event {
	if s.more == nil {
		return nil
	}
	return s.more.events
}

func (s *finishedSpan) DroppedEvents() int {
	if s.more == nil {
		return 0
	}
	return s.more.droppedEvents
}

func (s *finishedSpan) Links() []sdktrace.Link {
	if s.more == nil {
		return nil
	}
	return s.more.links
}

func (s *finishedSpan) Status() sdktrace.Status {
	if s.more == nil {
		return sdktrace.Status{}
	}
	return s.more.status
}

// InstrumentationLibrary is what the interface still asks for.
func (s *finishedSpan) InstrumentationLibrary() instrumentation.Library { //nolint:staticcheck // deprecated upstream, but part of ReadOnlySpan
	return scope
}

// scope is the instrumentation scope of what the bridge makes.
var scope = instrumentation.Scope{Name: ScopeName}

// emptySpan gets a ReadOnlySpan of the SDK's own: only the SDK can make one.
func emptySpan() sdktrace.ReadOnlySpan {
	var got capture
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&got), sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithResource(resource.Empty()))
	_, span := tp.Tracer("").Start(nil, "") //nolint:staticcheck // the SDK accepts a nil context
	span.End()
	return got.span
}

// mergeEvents puts marks among a span's own events in the order of time and
// applies the span's event limit as the SDK does: the oldest go first. Marks
// later than end are left out. Both lists are the caller's to lose.
func mergeEvents(own, marks []sdktrace.Event, end time.Time, limit int) (events []sdktrace.Event, c mergeCounts) {
	recorded := len(marks)
	marks = slices.DeleteFunc(marks, func(m sdktrace.Event) bool { return m.Time.After(end) })
	c.late = recorded - len(marks)
	byTime := func(a, b sdktrace.Event) int { return a.Time.Compare(b.Time) }
	slices.SortStableFunc(marks, byTime)
	slices.SortStableFunc(own, byTime)
	if len(own) == 0 && (limit < 0 || len(marks) <= limit) {
		c.marks = len(marks)
		return marks, c
	}
	surplus := 0
	if n := len(own) + len(marks); limit >= 0 && n > limit {
		surplus = n - limit
	}
	events = make([]sdktrace.Event, 0, len(own)+len(marks)-surplus)
	for len(own)+len(marks) > 0 {
		isMark := len(own) == 0 || (len(marks) > 0 && marks[0].Time.Before(own[0].Time))
		from := &own
		if isMark {
			from = &marks
		}
		switch {
		case surplus == 0:
			events = append(events, (*from)[0])
			if isMark {
				c.marks++
			}
		case isMark:
			c.droppedMarks++
			surplus--
		default:
			c.droppedOwn++
			surplus--
		}
		*from = (*from)[1:]
	}
	return events, c
}

// mergeCounts say what became of marks, and of a span's own events.
type mergeCounts struct{ marks, late, droppedMarks, droppedOwn int }

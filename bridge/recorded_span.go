package bridge

import (
	"context"
	"runtime"
	rt "runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/perfline/perfline/bridge/internal/attributes"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/spanlabels"
	"github.com/perfline/perfline/internal/text"
	"github.com/perfline/perfline/internal/tracelog"
)

// A recordedSpan has the whole state of a span. After the span's end, only the unit of a local root
// and the reason for keeping it change, and the encoder reads the rest without the lock. The
// sampler has dropped a span that is tentative: instrumentation sees that the span is not
// recording, and the span waits in an undecided unit.
//
// The size counts: a request's span, with all that belongs to it, takes 768 bytes, which is a size
// class of Go's allocator.
type recordedSpan struct {
	*unexported // nil

	tracer      *tracer
	served      *servedSpan // that the span of a request is a part of; else nil
	spanContext trace.SpanContext
	parent      parentContext
	startTime   time.Time
	label       *spanlabels.Span // of its goroutine; nil unless a profiler runs
	// of a local root: nil before its first child or mark; changed with mu held
	unit      atomic.Pointer[record.Unit]
	kind      uint8       // a trace.SpanKind
	root      bool        // it is a local root
	measure   bool        // it is the span of a measure
	sampled   bool        // as spanContext has it, which takes longer to ask
	dirty     bool        // attributes may have a key twice; guarded by mu
	answered  bool        // request has the attributes of the answer; guarded by mu
	tentative bool        // the sampler has dropped it, and its unit may be kept
	class     local.Class // of a local root; set after its end, as keep is
	// why the request of a local root is kept; set after its end, before its hand-over
	keep        local.KeepReason
	decided     bool     // keep is set; guarded by mu
	overCeiling bool     // the request is not kept although there is a reason
	traced      tracedOn // where it started, for the execution trace
	// the number of children; hasEnded is added with mu held, and then it does not change
	state atomic.Uint32
	marks record.SpanMarks

	mu                sync.Mutex // guards what follows
	droppedAttributes int32
	name              string
	endTime           time.Time // zero before the end
	status            sdktrace.Status
	request           *serving.Facts // of a request's span; nil if attributes has what they say
	attributes        []attribute.KeyValue
	details           *spanDetails // nil for most spans
}

const hasEnded = 1 << 31 // in the state of a span

// spanDetails are what few spans have.
type spanDetails struct {
	events latest[sdktrace.Event]
	links  latest[sdktrace.Link]
	task   *rt.Task // of a local root, while the execution tracer runs

	parentState trace.TraceState // see parentContext

	stream, job bool // attributes that were dropped say so
}

// unexported has the unexported methods of the interfaces that a span implements. All other methods
// are the span's own.
type unexported struct {
	embedded.Span
	sdktrace.ReadOnlySpan
}

var (
	_ sdktrace.ReadWriteSpan = (*recordedSpan)(nil)
	_ serving.RequestSpan    = (*recordedSpan)(nil)
)

// withDetails returns the span's details, to be changed. s.mu is held.
func (s *recordedSpan) withDetails() *spanDetails {
	if s.details == nil {
		s.details = new(spanDetails)
	}
	return s.details
}

var noDetails spanDetails

// readDetails returns the span's details, to be read. s.mu is held, or the span has ended.
func (s *recordedSpan) readDetails() *spanDetails {
	if s.details == nil {
		return &noDetails
	}
	return s.details
}

// child counts a child of the span. If the child is of the same unit, it returns the unit, and else
// nil.
func (s *recordedSpan) child(sameUnit bool) *record.Unit {
	for n := s.state.Load(); n < hasEnded && !s.state.CompareAndSwap(n, n+1); {
		n = s.state.Load()
	}
	if !sameUnit {
		return nil
	}
	return s.Unit()
}

// isOpen reports whether the span has not ended. With s.mu held, it does not change.
func (s *recordedSpan) isOpen() bool { return s.state.Load() < hasEnded }

// IsRecording reports whether the sampler lets the span record, and it has not ended.
func (s *recordedSpan) IsRecording() bool { return !s.tentative && s.isOpen() }

func (s *recordedSpan) Takes() bool { return s.isOpen() }

func (s *recordedSpan) ExportedUnsampled() bool {
	if !s.tentative {
		return false
	}
	unit := s.unit.Load()
	return unit != nil && unit.Exported()
}

// failed reports whether the span has ended with the status Error.
func (s *recordedSpan) failed() bool { return s.status.Code == codes.Error }

func (s *recordedSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }

func (s *recordedSpan) SetName(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen() {
		s.name = record.Name(name)
	}
}

// SetStatus does not weaken the status: Ok is stronger than Error, and Error than Unset. Only Error
// has a description.
func (s *recordedSpan) SetStatus(code codes.Code, description string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isOpen() || s.status.Code > code {
		return
	}
	s.status = sdktrace.Status{Code: code}
	if code == codes.Error {
		s.status.Description = text.Cut(description, record.MaxText)
	}
}

func (s *recordedSpan) AddEvent(name string, options ...trace.EventOption) {
	c := trace.NewEventConfig(options...)
	s.addEvent(sdktrace.Event{Name: record.Name(name), Attributes: c.Attributes(),
		Time: c.Timestamp()})
}

// addEvent adds an event whose attributes are the span's own. It returns false if the span has
// ended.
func (s *recordedSpan) addEvent(e sdktrace.Event) bool {
	limits := &s.tracer.provider.limits
	e.Attributes, e.DroppedAttributeCount = attributes.LimitList(e.Attributes,
		limits.AttributeValueDepthLimit, -1, limits.AttributePerEventCountLimit)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.isOpen() {
		return false
	}
	s.withDetails().events.add(e, limits.EventCountLimit)
	return true
}

// AddLink adds a link unless it says nothing: it has no span context, no trace state and no
// attributes.
func (s *recordedSpan) AddLink(link trace.Link) {
	if !link.SpanContext.IsValid() && len(link.Attributes) == 0 &&
		link.SpanContext.TraceState().Len() == 0 {
		return
	}
	limits := &s.tracer.provider.limits
	l := sdktrace.Link{SpanContext: link.SpanContext}
	l.Attributes, l.DroppedAttributeCount = attributes.LimitList(slices.Clone(link.Attributes),
		limits.AttributeValueDepthLimit, -1, limits.AttributePerLinkCountLimit)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isOpen() {
		s.withDetails().links.add(l, limits.LinkCountLimit)
	}
}

// End ends the span, hands it over, and calls the processors. Under a panic, it records the panic,
// which goes on.
func (s *recordedSpan) End(options ...trace.SpanEndOption) {
	end := s.startTime.Add(time.Since(s.startTime)) // by the monotonic clock
	if !s.isOpen() {
		return
	}
	config := trace.NewSpanEndConfig(options...)
	if t := config.Timestamp(); !t.IsZero() {
		end = t
	}
	if s.tracer.provider.recordPanics {
		if p := recover(); p != nil { // works only in the deferred function itself, which is End
			defer panic(p)
			defer s.end(end) // also if a method of p panics or ends the goroutine
			s.addException(p, record.PanicText(p), stackOf(config.StackTrace()),
				trace.NewEventConfig())
			return
		}
	}
	s.end(end)
}

// end ends the span, unless another goroutine has ended it, and hands it over.
func (s *recordedSpan) end(at time.Time) {
	if !s.endState(at) {
		return
	}
	if s.root {
		s.classify()
	}
	unit := s.unit.Load()
	if s.decideOrNote(unit); s.tentative && s.root {
		s.endTentative()
		return
	}
	switch {
	case unit == nil:
		// a root without anything under it
		s.tracer.provider.timeline.HandOver(receiver{s.tracer.provider}, s)
	case s.root:
		unit.End(s)
	default:
		unit.EndSpan(s, s.entryType(), nil)
	}
	s.tracer.provider.onEnd(s)
}

// decideOrNote decides whether the request of a local root is kept, or notes the failure of another
// span for that decision.
func (s *recordedSpan) decideOrNote(unit *record.Unit) {
	p := s.tracer.provider
	switch {
	case p.keeper == nil:
	case !s.root:
		if s.failed() {
			unit.Failed.Store(true)
		}
	default:
		if s.tentative {
			s.tracer.roots.End()
		}
		p.decide(s, unit)
	}
}

// endTentative ends the unit of a local root that is tentative, and hands it over if it is kept: to
// the exporters only in the process that began the trace. Otherwise, the root is only counted.
func (s *recordedSpan) endTentative() {
	switch p := s.tracer.provider; {
	case s.keep == local.NotKept:
		if unit := s.unit.Load(); unit != nil {
			unit.Discard(s)
		}
		p.countDropped(s)
	case p.keeper.Exports() && len(p.exporters) > 0 && !s.parent.elsewhere:
		s.Unit().Export(s)
	default:
		s.Unit().End(s)
	}
}

// endState ends the span except for its unit and the processors. It returns false if another
// goroutine has ended the span.
func (s *recordedSpan) endState(at time.Time) bool {
	s.mu.Lock()
	if !s.isOpen() {
		s.mu.Unlock()
		return false
	}
	s.distinct()
	s.endTime = at
	s.state.Or(hasEnded)
	if s.unit.Load() == nil {
		s.marks.End()
	}
	name := s.name
	var task *rt.Task
	if d := s.details; d != nil {
		d.events.settle()
		d.links.settle()
		task, d.task = d.task, nil
	}
	s.mu.Unlock()

	s.label.End(name)
	if tracelog.Enabled() {
		s.traceEnd(name)
	}
	if task != nil {
		task.End()
	}
	return true
}

// labelGoroutine labels the calling goroutine until the span's end, for profilers. The span has
// just been made.
func (s *recordedSpan) labelGoroutine(ctx context.Context, name string) {
	if !spanlabels.Enabled() || !s.sampled && !s.tentative {
		return
	}
	// also under a span that the program has around all requests
	request := s.root && s.kind == uint8(trace.SpanKindServer)
	s.label = spanlabels.Set(ctx, s.spanContext, name, request || !s.parent.isLocal())
	if id, ok := s.label.ProfileID(); ok {
		s.addAttributes([]attribute.KeyValue{id})
	}
}

// latest keeps the last values that were added, up to a limit, and counts the others.
type latest[T any] struct {
	values  []T
	oldest  int // the place of the first value
	dropped int
}

// add adds v. A negative limit means no limit. The limit must always be the same.
func (l *latest[T]) add(v T, limit int) {
	switch {
	case limit == 0:
		l.dropped++
	case limit > 0 && len(l.values) == limit:
		l.values[l.oldest] = v
		l.oldest = (l.oldest + 1) % limit
		l.dropped++
	default:
		l.values = append(l.values, v)
	}
}

// inOrder returns a copy of the values in the order in which they were added, and nil without any.
func (l *latest[T]) inOrder() []T { return slices.Concat(l.values[l.oldest:], l.values[:l.oldest]) }

// settle puts the values in order. Nothing is added afterwards.
func (l *latest[T]) settle() {
	if l.oldest > 0 {
		l.values, l.oldest = l.inOrder(), 0
	}
}

// RecordError adds an exception event. It does not set the status.
func (s *recordedSpan) RecordError(err error, options ...trace.EventOption) {
	if err == nil || !s.isOpen() {
		return
	}
	c := trace.NewEventConfig(options...)
	message, stack := record.GoexitText, stackOf(c.StackTrace())
	// also if the method of err ends the goroutine
	defer func() { s.addException(err, message, stack, c) }()
	message = record.ErrorText(err)
}

// maxStack is the length of a stack in an event, in bytes. It is the same as the SDK's.
const maxStack = 2048

// addException adds the event of an error or of a panic's value.
func (s *recordedSpan) addException(v any, message, stack string, c trace.EventConfig) {
	attrs := append(c.Attributes(), semconv.ExceptionType(record.TypeName(v)),
		semconv.ExceptionMessage(message))
	if stack != "" {
		attrs = append(attrs, semconv.ExceptionStacktrace(stack))
	}
	s.addEvent(sdktrace.Event{Name: semconv.ExceptionEventName, Time: c.Timestamp(),
		Attributes: attrs})
}

// stackOf returns the stack of this goroutine if it is wanted.
func stackOf(wanted bool) string {
	if !wanted {
		return ""
	}
	text := make([]byte, maxStack)
	return string(text[:runtime.Stack(text, false)])
}

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

// A recordedSpan stores the state of a span that the sampler sampled, that is only recorded, or
// that waits for the keep policy. A waiting span is tentative: the sampler dropped the span,
// IsRecording is false, and the unit is undecided. After the span's end, only the unit and the keep
// reason of a local root change, so the encoder reads the other fields without the lock.
//
// A requestSpan has 768 bytes, a size class of Go's allocator: measure before you add a field.
type recordedSpan struct {
	*privateMethods // nil

	tracer      *tracer
	object      *requestSpan // contains s; nil unless s is the span of a served request
	spanContext trace.SpanContext
	parent      parentContext
	startTime   time.Time
	label       *spanlabels.Span            // nil unless a profiler runs
	unit        atomic.Pointer[record.Unit] // a local root sets unit at the first use, with mu held
	kind        uint8                       // a trace.SpanKind
	root        bool                        // s is a local root
	measure     bool                        // s is the span of a measure
	sampled     bool                        // a copy of the flag in spanContext, for speed
	dirty       bool                        // attributes may repeat a key; guarded by mu
	answered    bool                        // request includes the answer; guarded by mu
	tentative   bool                        // the sampler dropped s, and a policy may keep the unit
	class       local.Class                 // of a local root; set at the end, before the hand-over
	keep        local.KeepReason            // likewise
	decided     bool                        // keep is set; guarded by mu
	overCeiling local.KeepReason            // the reason of a request that a ceiling dropped
	inner       bool                        // an open call of this process has sent the request
	goroutine   startGoroutine              // for the execution trace
	state       atomic.Uint32               // number of children; constant after hasEnded is set
	marks       record.SpanMarks

	mu                sync.Mutex // guards the following fields
	droppedAttributes int32
	name              string
	endTime           time.Time // zero before the end
	status            sdktrace.Status
	request           *serving.Facts // of a served request, unless attributes includes the facts
	attributes        []attribute.KeyValue
	details           *spanDetails // nil for most spans
}

const hasEnded = 1 << 31 // the bit of recordedSpan.state that the end sets, with mu held

// spanDetails are fields that few spans use.
type spanDetails struct {
	events ring[sdktrace.Event]
	links  ring[sdktrace.Link]
	task   *rt.Task // of a local root, while the execution tracer runs

	taskContext context.Context //nolint:containedctx // has the task

	parentState trace.TraceState // see parentContext
	stream, job bool             // dropped attributes say that the root is a stream or a job
}

// privateMethods implement the private methods of the interfaces of a span.
type privateMethods struct {
	embedded.Span
	sdktrace.ReadOnlySpan
}

var (
	_ sdktrace.ReadWriteSpan = (*recordedSpan)(nil)
	_ serving.RequestSpan    = (*recordedSpan)(nil)
)

// withDetails returns the details for a write. s.mu is held.
func (s *recordedSpan) withDetails() *spanDetails {
	if s.details == nil {
		s.details = new(spanDetails)
	}
	return s.details
}

var noDetails spanDetails

// readDetails returns the details for a read. s.mu is held, or the span has ended.
func (s *recordedSpan) readDetails() *spanDetails {
	if s.details == nil {
		return &noDetails
	}
	return s.details
}

// addChild counts a child. For a child in the same unit, addChild returns the unit, otherwise nil.
func (s *recordedSpan) addChild(sameUnit bool) *record.Unit {
	for n := s.state.Load(); n < hasEnded && !s.state.CompareAndSwap(n, n+1); {
		n = s.state.Load()
	}
	if !sameUnit {
		return nil
	}
	return s.Unit()
}

// isOpen reports whether the span has not ended. The result stays true while s.mu is held.
func (s *recordedSpan) isOpen() bool { return s.state.Load() < hasEnded }

// IsRecording reports whether the span is open and not dropped by the sampler.
func (s *recordedSpan) IsRecording() bool { return !s.tentative && s.isOpen() }

func (s *recordedSpan) Takes() bool { return s.isOpen() }

func (s *recordedSpan) ExportedUnsampled() bool {
	unit := s.unit.Load()
	return s.tentative && unit != nil && unit.Exported()
}

func (s *recordedSpan) failed() bool { return s.status.Code == codes.Error }

func (s *recordedSpan) TracerProvider() trace.TracerProvider { return s.tracer.provider }

func (s *recordedSpan) SetName(name string) {
	name = record.Name(name)
	s.mu.Lock()
	open := s.isOpen()
	if open {
		s.name = name
	}
	s.mu.Unlock()
	if u := s.unit.Load(); open && s.root && u != nil && u.Mirrored() {
		u.MirrorRoute(routeOf(name, nil))
	}
}

// SetStatus sets the status. A status Ok is final, and Unset does not replace Error. SetStatus
// ignores the description unless code is Error.
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

// addEvent adds an event, and takes over e.Attributes. addEvent returns false if the span has
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

// AddLink adds a link. AddLink ignores a link without a valid span context, trace state and
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

// End ends the span, hands the span over, and calls the processors. During a panic, End adds an
// exception event, and then panics again with the same value.
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
		if p := recover(); p != nil { // works only in a deferred function, which End must be
			defer panic(p)
			defer s.end(end) // also if a method of p panics or ends the goroutine
			s.addException(p, record.PanicText(p), stackOf(config.StackTrace()),
				trace.NewEventConfig())
			return
		}
	}
	s.end(end)
}

// end ends the span and hands the span over, unless another goroutine has ended the span.
func (s *recordedSpan) end(at time.Time) {
	if !s.markEnded(at) {
		return
	}
	if s.root {
		s.classify()
	}
	if s.kind == uint8(trace.SpanKindClient) {
		s.tracer.provider.calls.remove(s.spanContext.SpanID())
	}
	unit := s.unit.Load()
	if s.root && unit != nil && unit.Mirrored() {
		s.mirrorEnd(unit)
	}
	if s.applyKeepPolicy(unit); s.tentative && s.root {
		s.endTentative()
		return
	}
	switch {
	case unit == nil:
		s.tracer.provider.timeline.HandOver(receiver{s.tracer.provider}, s)
	case s.root:
		unit.End(s)
	default:
		if s.kind == uint8(trace.SpanKindServer) {
			unit.FoundRoute(routeOf(s.name, s.attributes))
		}
		unit.EndSpan(s, s.entryType(), nil)
	}
	s.tracer.provider.onEnd(s)
}

// endTentative ends the unit of a tentative local root. A kept unit is handed over, to the
// exporters only in the process that began the trace. A unit that is not kept is only counted.
func (s *recordedSpan) endTentative() {
	switch p := s.tracer.provider; {
	case s.keep == local.NotKept:
		if unit := s.unit.Load(); unit != nil {
			unit.Discard(s)
		}
		p.dropped.Add(s.asRoot(), p.decisionCounter(s))
	case s.exportsKept(s.keep):
		s.Unit().Export(s)
	default:
		s.Unit().End(s)
	}
}

// exportsKept reports whether exporters receive the request of a local root if the policy keeps it
// for a reason.
func (s *recordedSpan) exportsKept(reason local.KeepReason) bool {
	p := s.tracer.provider
	return p.keeper.Exports(reason) && len(p.exporters) > 0 && !s.parent.foreignTrace
}

// markEnded ends the span without its unit and without the processors. markEnded returns false if
// another goroutine has ended the span.
func (s *recordedSpan) markEnded(at time.Time) bool {
	s.mu.Lock()
	if !s.isOpen() {
		s.mu.Unlock()
		return false
	}
	s.removeDuplicates()
	s.endTime = at
	s.state.Or(hasEnded)
	if s.unit.Load() == nil {
		s.marks.End()
	}
	name := s.name
	var task *rt.Task
	ctx := context.Background()
	if d := s.details; d != nil {
		d.events.unroll()
		d.links.unroll()
		if d.task != nil {
			task, ctx = d.task, d.taskContext
			d.task, d.taskContext = nil, nil
		}
	}
	s.mu.Unlock()

	s.label.End(name)
	if tracelog.Enabled() {
		s.traceEnd(ctx, name)
	}
	if task != nil {
		task.End()
	}
	return true
}

// labelGoroutine labels the calling goroutine for profilers until the end of the span, which is
// new.
func (s *recordedSpan) labelGoroutine(ctx context.Context, name string) {
	if !spanlabels.Enabled() || !s.sampled && !s.tentative {
		return
	}
	// a request may have a local parent: the program's span around all requests
	request := s.root && s.kind == uint8(trace.SpanKindServer)
	s.label = spanlabels.Set(ctx, s.spanContext, name, request || !s.parent.isLocal())
	if id, ok := s.label.ProfileID(); ok {
		s.addAttributes([]attribute.KeyValue{id})
	}
}

// A ring stores the newest values up to a limit, and counts the older values.
type ring[T any] struct {
	values  []T
	oldest  int // index
	dropped int
}

// add adds v. A negative limit means no limit. All calls must pass the same limit.
func (l *ring[T]) add(v T, limit int) {
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

// snapshot returns a copy of the values, the oldest first, or nil for an empty ring.
func (l *ring[T]) snapshot() []T { return slices.Concat(l.values[l.oldest:], l.values[:l.oldest]) }

// unroll sorts values by age. add must not be called afterwards.
func (l *ring[T]) unroll() {
	if l.oldest > 0 {
		l.values, l.oldest = l.snapshot(), 0
	}
}

// RecordError adds an exception event. RecordError does not set the status.
func (s *recordedSpan) RecordError(err error, options ...trace.EventOption) {
	if err == nil || !s.isOpen() {
		return
	}
	c := trace.NewEventConfig(options...)
	message, stack := record.GoexitText, stackOf(c.StackTrace())
	// deferred, because err.Error may end the goroutine
	defer func() { s.addException(err, message, stack, c) }()
	message = record.ErrorText(err)
}

// maxStack is the largest size of a stack in an event, in bytes, as in the SDK.
const maxStack = 2048

func (s *recordedSpan) addException(v any, message, stack string, c trace.EventConfig) {
	attrs := append(c.Attributes(), semconv.ExceptionType(record.TypeName(v)),
		semconv.ExceptionMessage(message))
	if stack != "" {
		attrs = append(attrs, semconv.ExceptionStacktrace(stack))
	}
	s.addEvent(sdktrace.Event{Name: semconv.ExceptionEventName, Time: c.Timestamp(),
		Attributes: attrs})
}

func stackOf(wanted bool) string {
	if !wanted {
		return ""
	}
	text := make([]byte, maxStack)
	return string(text[:runtime.Stack(text, false)])
}

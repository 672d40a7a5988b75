package bridge

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/perfline/perfline/bridge/internal/keep"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/tracelog"
)

// A tracer makes the spans of one instrumentation scope.
type tracer struct {
	embedded.Tracer

	provider *TracerProvider
	scope    instrumentation.Scope
	group    *otlpenc.Group
	roots    keep.Roots // that wait for the policy
}

// A spanStart says how a span starts.
type spanStart struct {
	kind       trace.SpanKind
	newRoot    bool
	time       time.Time            // zero means now
	attributes []attribute.KeyValue // the span's from then on
	request    serving.Request      // has attributes, if it is not nil
	links      []trace.Link
}

func (t *tracer) Start(ctx context.Context, name string,
	options ...trace.SpanStartOption) (context.Context, trace.Span) {
	config := trace.NewSpanStartConfig(options...)
	return t.start(ctx, name, &spanStart{
		kind: config.SpanKind(), newRoot: config.NewRoot(), time: config.Timestamp(),
		attributes: config.Attributes(), links: config.Links(),
	})
}

var _ serving.Tracer = (*tracer)(nil)

func (t *tracer) StartServer(ctx context.Context, name string, r serving.Request, newRoot bool,
	links []trace.Link) (context.Context, trace.Span) {
	return t.start(ctx, name,
		&spanStart{kind: trace.SpanKindServer, newRoot: newRoot, request: r, links: links})
}

func (t *tracer) start(ctx context.Context, name string, how *spanStart) (context.Context,
	trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	name = record.Name(name)
	active := trace.SpanFromContext(ctx)
	parent, unit, droppedRoot := t.parent(active, how)
	elsewhere := !how.newRoot && beganElsewhere(active)
	decided := ctx // the context of the decision
	if how.newRoot {
		decided = trace.ContextWithSpanContext(ctx, parent)
	}
	if how.request != nil && !t.provider.sdkSampler { // it may look at them
		how.attributes, how.request = listOf(how.request), nil
	}
	var sc trace.SpanContext
	var result sdktrace.SamplingResult
	// samplers and generators of ids do not see what is below a dropped span
	if t == t.provider.marks && unit != nil && unit.Tentative() {
		sc = parent.WithSpanID(randomSpanID())
	} else {
		sc, result = t.sample(decided, &parent, name, how)
	}
	dropped := result.Decision != sdktrace.RecordOnly && result.Decision != sdktrace.RecordAndSample
	tentative := dropped && t.provider.keeper != nil && droppedRoot == nil &&
		(unit != nil && unit.Tentative() || unit == nil && t.beginTentative())
	if dropped && !tentative {
		var c *droppedContext
		root := unit == nil && droppedRoot == nil
		if root && how.request != nil {
			served := new(droppedRequest)
			c, unit = &served.droppedContext, &served.unit
			t.provider.timeline.InitUnit(unit, time.Now(), receiver{t.provider}, false)
		} else {
			c = new(droppedContext)
		}
		s := &c.span
		c.Context, s.tracer, s.spanContext, s.kind, s.root, s.elsewhere = ctx, t, sc, how.kind,
			droppedRoot, elsewhere
		if root {
			s.root = s
		}
		s.unit.Store(unit)
		return c, s
	}

	if !dropped && unit != nil && unit.Tentative() {
		unit = nil // what is sampled does not wait for the decision
	}
	c, s := newSpan(ctx, t, how.request != nil && unit == nil)
	s.tentative = tentative
	s.name, s.spanContext, s.sampled = name, sc, sc.IsSampled()
	s.setParent(&parent, elsewhere)
	s.kind, s.root, s.startTime = uint8(trace.ValidateSpanKind(how.kind)), unit == nil, how.time
	s.unit.Store(unit)
	if tracelog.Enabled() {
		s.traced = traceHere(active, how.time)
	}
	if s.startTime.IsZero() {
		s.startTime = time.Now()
	}
	for _, l := range how.links {
		s.AddLink(l)
	}
	if tentative {
		result.Attributes = nil
	}
	s.begin(result.Attributes, how)
	s.labelGoroutine(ctx, name)
	var started context.Context = c
	if !tentative {
		t.provider.onStart(ctx, s)
	}
	if tracelog.Enabled() {
		started = s.traceStart(started)
	}
	return started, s
}

// parent returns the context of the active span. For a span of the same provider, it also returns
// the unit of the recorded local root, or the local root if that was dropped. The active span
// counts a new root as a child, but is not its parent.
//
// A request is a unit of its own unless the unit above it is the same request's: a span of the
// program's may be the parent of all requests.
func (t *tracer) parent(active trace.Span, how *spanStart) (sc trace.SpanContext, unit *record.Unit,
	dropped *droppedSpan) {
	var above *record.Unit
	switch s := active.(type) {
	case *recordedSpan:
		sc, unit = s.spanContext, s.child(s.tracer.provider == t.provider && !how.newRoot)
		above = unit
	case *droppedSpan:
		sc = s.spanContext
		if s.tracer.provider == t.provider {
			above = s.holder().unit.Load()
			if dropped = s.root; dropped == nil {
				unit = above
			}
		}
	default:
		sc = s.SpanContext()
	}
	if how.newRoot {
		return trace.SpanContext{}, nil, nil
	}
	served := false // by bridgehttp or bridgegrpc
	if how.kind == trace.SpanKindServer && above != nil {
		_, served = above.Timing(record.RequestStart)
	}
	if how.kind == trace.SpanKindServer && !served {
		return sc, nil, nil
	}
	return sc, unit, dropped
}

// sample makes the ids of a span, and asks the sampler about it.
func (t *tracer) sample(ctx context.Context, parent *trace.SpanContext, name string,
	how *spanStart) (trace.SpanContext, sdktrace.SamplingResult) {
	var sc trace.SpanContextConfig
	flags := parent.TraceFlags()
	switch sc.TraceID = parent.TraceID(); {
	case !sc.TraceID.IsValid():
		sc.TraceID, sc.SpanID = t.provider.newIDs(ctx)
		flags = flags.WithRandom(flags.IsRandom() || t.provider.ids == nil)
	default:
		sc.SpanID = t.provider.newSpanID(ctx, sc.TraceID)
	}
	if t.provider.inherits && (parent.IsValid() || t.provider.samplesRoots) {
		decision := sdktrace.Drop
		sc.TraceState, sc.TraceFlags = parent.TraceState(), flags
		if !parent.IsValid() {
			sc.TraceFlags = sc.TraceFlags.WithSampled(true)
		}
		if sc.TraceFlags.IsSampled() {
			decision = sdktrace.RecordAndSample
		}
		return trace.NewSpanContext(sc), sdktrace.SamplingResult{Decision: decision}
	}
	result := t.provider.shouldSample(&sdktrace.SamplingParameters{
		ParentContext: ctx,
		TraceID:       sc.TraceID,
		Name:          name,
		Kind:          how.kind,
		Attributes:    how.attributes,
		Links:         how.links,
	})
	sc.TraceState = result.Tracestate
	sc.TraceFlags = flags.WithSampled(result.Decision == sdktrace.RecordAndSample)
	return trace.NewSpanContext(sc), result
}

const theIDGenerator = "the generator of ids"

// newIDs returns the ids of a root. They are random without a generator, and if that panics.
func (p *TracerProvider) newIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if p.ids != nil && p.timeline.Try(theIDGenerator, func() { t, s = p.ids.NewIDs(ctx) }) {
		return t, s
	}
	for !t.IsValid() {
		binary.NativeEndian.PutUint64(t[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(t[8:], rand.Uint64())
	}
	return t, randomSpanID()
}

// newSpanID returns the id of a span, as newIDs does.
func (p *TracerProvider) newSpanID(ctx context.Context, t trace.TraceID) (id trace.SpanID) {
	if p.ids != nil && p.timeline.Try(theIDGenerator, func() { id = p.ids.NewSpanID(ctx, t) }) {
		return id
	}
	return randomSpanID()
}

func randomSpanID() (s trace.SpanID) {
	for !s.IsValid() {
		binary.NativeEndian.PutUint64(s[:], rand.Uint64())
	}
	return s
}

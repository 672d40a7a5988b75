package bridge

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"

	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/keep"
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
	roots    keep.Roots // wait for the policy
}

// A spanStart configures the start of a span.
type spanStart struct {
	kind       trace.SpanKind
	newRoot    bool
	time       time.Time            // zero means now
	attributes []attribute.KeyValue // the span takes over the slice
	request    serving.Request      // makes the attributes, if not nil
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

func (t *tracer) start(ctx context.Context, name string, cfg *spanStart) (context.Context,
	trace.Span) {
	if ctx == nil {
		ctx = context.Background()
	}
	name = record.Name(name)
	active, between := t.provider.activeSpan(ctx)
	parent, unit, droppedRoot := t.parent(active, between, cfg)
	if t.provider.strays != nil && unit == nil && droppedRoot == nil {
		switch {
		case cfg.kind == trace.SpanKindServer || cfg.kind == trace.SpanKindConsumer:
			t.provider.strays.NoteRequest()
		case !parent.IsValid() && !cfg.newRoot:
			t.provider.strays.NoteStray(name, t.scope.Name, cfg.kind, cfg.attributes)
		}
	}
	foreignTrace := !cfg.newRoot && hasForeignTrace(active)
	samplingCtx := ctx
	if cfg.newRoot {
		samplingCtx = trace.ContextWithSpanContext(ctx, parent)
	}
	if cfg.request != nil && !t.provider.sdkSampler { // the sampler may read attributes
		cfg.attributes, cfg.request = requestAttributes(cfg.request), nil
	}
	var sc trace.SpanContext
	var result sdktrace.SamplingResult
	// samplers and id generators do not see measures under a dropped span
	if t == t.provider.marks && unit != nil && unit.Tentative() {
		sc = parent.WithSpanID(randomSpanID())
	} else {
		sc, result = t.sample(samplingCtx, &parent, name, cfg)
	}
	dropped := result.Decision != sdktrace.RecordOnly && result.Decision != sdktrace.RecordAndSample
	tentative := dropped && t.provider.keeper != nil && droppedRoot == nil &&
		(unit != nil && unit.Tentative() || unit == nil && t.beginTentative())
	if dropped && !tentative {
		var c *droppedContext
		root := unit == nil && droppedRoot == nil
		if root && cfg.request != nil {
			served := new(droppedRequest)
			c, unit = &served.droppedContext, &served.unit
			t.provider.timeline.InitUnit(unit, time.Now(), receiver{t.provider}, false)
		} else {
			c = new(droppedContext)
		}
		s := &c.span
		c.Context, s.tracer, s.spanContext, s.kind, s.root, s.foreignTrace = ctx, t, sc, cfg.kind,
			droppedRoot, foreignTrace
		if root {
			s.root = s
		}
		if above, ok := active.(*recordedSpan); ok && above.sampled && unit != nil &&
			between.IsValid() && !between.IsSampled() {
			s.above = above
			t.provider.attachment.stats[spansUnderUnsampled].Add(1)
		}
		s.unit.Store(unit)
		return c, s
	}

	if !dropped && unit != nil && unit.Tentative() {
		unit = nil // a sampled span does not wait for the decision
	}
	c, s := newSpan(ctx, t, cfg.request != nil && unit == nil)
	s.tentative = tentative
	s.name, s.spanContext, s.sampled = name, sc, sc.IsSampled()
	s.setParent(&parent, foreignTrace)
	s.kind, s.root, s.startTime = uint8(trace.ValidateSpanKind(cfg.kind)), unit == nil, cfg.time
	s.unit.Store(unit)
	switch {
	case cfg.kind == trace.SpanKindClient:
		if t.provider.calls.add(sc.SpanID()) {
			t.provider.attachment.stats[callsForgotten].Add(1)
		}
	case cfg.kind == trace.SpanKindServer && s.root:
		s.inner = t.provider.calls.has(parent.SpanID())
	}
	if tracelog.Enabled() {
		var above startGoroutine
		if parent, ok := active.(*recordedSpan); ok {
			above = parent.goroutine
		}
		s.goroutine = newStartGoroutine(above, cfg.time)
	}
	if s.startTime.IsZero() {
		s.startTime = time.Now()
	}
	for _, l := range cfg.links {
		s.AddLink(l)
	}
	if tentative {
		result.Attributes = nil
	}
	s.setStartAttributes(result.Attributes, cfg)
	if t.provider.timeline.Mirrored() {
		s.mirrorStart()
	}
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

// activeSpan returns the active span of ctx. If the active span is of another package, in the trace
// of a span of p above, activeSpan returns the span of p, and the context of the other span as
// between. A no-op span has the ids of the span above.
func (p *TracerProvider) activeSpan(ctx context.Context) (active trace.Span,
	between trace.SpanContext) {
	active = trace.SpanFromContext(ctx)
	if isOwn(active) {
		return active, trace.SpanContext{}
	}
	own, sc := spanAbove(ctx, active)
	if own == nil || own.TracerProvider() != p {
		return active, trace.SpanContext{}
	}
	return own, sc
}

// spanAbove returns the innermost span of perfline's providers above active, which is a span of
// another package. spanAbove also returns the context of active. If active is invalid, remote or of
// another trace, the program has left the request, and spanAbove returns nil. A remote span with
// the ids of the span above is that span: otelgrpc marks each parent as remote. If the remote span
// is the parent of the span above, other instrumentation has read the headers of the request again.
func spanAbove(ctx context.Context, active trace.Span) (own trace.Span, sc trace.SpanContext) {
	above, ok := record.ActiveAbove(ctx).(trace.Span)
	if !ok {
		return nil, sc
	}
	sc = active.SpanContext()
	upper := above.SpanContext()
	if !sc.IsValid() || sc.TraceID() != upper.TraceID() {
		return nil, sc
	}
	switch root, ok := above.(*recordedSpan); {
	case !sc.IsRemote():
	case sc.SpanID() == upper.SpanID():
		sc = sc.WithRemote(false)
	case !ok || !root.parent.remote || sc.SpanID() != root.parent.id ||
		sc.TraceFlags() != root.parent.flags:
		return nil, sc
	}
	return above, sc
}

// parent returns the context of the active span, unless the new span is a root. For an active span
// of the same provider, parent also returns the unit of the recorded local root, or the dropped
// local root. The active span counts a new root as a child. If between is valid, between is the
// parent, and the new span belongs to the unit of the active span.
//
// A request is a unit of its own, also under a span that the program has around all requests. Only
// a unit above that already serves the request is the request's unit.
func (t *tracer) parent(active trace.Span, between trace.SpanContext, cfg *spanStart) (
	sc trace.SpanContext, unit *record.Unit, dropped *droppedSpan) {
	var activeUnit *record.Unit
	switch s := active.(type) {
	case *recordedSpan:
		sc = s.spanContext
		if between.IsValid() {
			unit = s.Unit()
		} else {
			unit = s.addChild(s.tracer.provider == t.provider && !cfg.newRoot)
		}
		activeUnit = unit
	case *droppedSpan:
		sc = s.spanContext
		if s.tracer.provider == t.provider {
			activeUnit = s.unitOwner().unit.Load()
			if dropped = s.root; dropped == nil {
				unit = activeUnit
			}
		}
	default:
		sc = s.SpanContext()
	}
	if cfg.newRoot {
		return trace.SpanContext{}, nil, nil
	}
	if between.IsValid() {
		sc = between
	}
	if cfg.kind == trace.SpanKindServer {
		served := false // by bridgehttp or bridgegrpc
		if activeUnit != nil {
			_, served = activeUnit.Timing(record.RequestStart)
		}
		if !served {
			return sc, nil, nil
		}
	}
	return sc, unit, dropped
}

// sample makes the ids of a span, and asks the sampler.
func (t *tracer) sample(ctx context.Context, parent *trace.SpanContext, name string,
	cfg *spanStart) (trace.SpanContext, sdktrace.SamplingResult) {
	var sc trace.SpanContextConfig
	flags := parent.TraceFlags()
	if sc.TraceID = parent.TraceID(); sc.TraceID.IsValid() {
		sc.SpanID = t.provider.newSpanID(ctx, sc.TraceID)
	} else {
		sc.TraceID, sc.SpanID = t.provider.newIDs(ctx)
		flags = flags.WithRandom(flags.IsRandom() || t.provider.ids == nil)
	}
	if t.provider.inherits && (parent.IsValid() || t.provider.samplesRoots) {
		decision := sdktrace.Drop
		sc.TraceState = parent.TraceState()
		sc.TraceFlags = flags.WithSampled(flags.IsSampled() || !parent.IsValid())
		if sc.TraceFlags.IsSampled() {
			decision = sdktrace.RecordAndSample
		}
		return trace.NewSpanContext(sc), sdktrace.SamplingResult{Decision: decision}
	}
	result := t.provider.shouldSample(&sdktrace.SamplingParameters{
		ParentContext: ctx, TraceID: sc.TraceID, Name: name, Kind: cfg.kind,
		Attributes: cfg.attributes, Links: cfg.links,
	})
	sc.TraceState = result.Tracestate
	sc.TraceFlags = flags.WithSampled(result.Decision == sdktrace.RecordAndSample)
	return trace.NewSpanContext(sc), result
}

const idGenerator = "the generator of ids"

// newIDs returns the ids of a root. The ids are random without an id generator, or if the generator
// panics.
func (p *TracerProvider) newIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if p.ids != nil && p.timeline.Try(idGenerator, func() { t, s = p.ids.NewIDs(ctx) }) {
		return t, s
	}
	for !t.IsValid() {
		binary.NativeEndian.PutUint64(t[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(t[8:], rand.Uint64())
	}
	return t, randomSpanID()
}

// newSpanID returns the id of a child, as newIDs does.
func (p *TracerProvider) newSpanID(ctx context.Context, t trace.TraceID) (id trace.SpanID) {
	if p.ids != nil && p.timeline.Try(idGenerator, func() { id = p.ids.NewSpanID(ctx, t) }) {
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

// isSDK reports whether a sampler and all samplers in the sampler are the SDK's.
func isSDK(v reflect.Value) bool {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !v.IsValid() {
		return false
	}
	if pkg := v.Type().PkgPath(); pkg != "" &&
		pkg != reflect.TypeFor[sdktrace.SpanLimits]().PkgPath() {
		return false
	}
	if v.Kind() == reflect.Struct {
		for _, field := range v.Fields() {
			if !isSDK(field) {
				return false
			}
		}
	}
	return true
}

// inherits reports whether an SDK sampler samples a child exactly if the parent is sampled. The
// description shows whether the sampler is a ParentBased with the SDK's defaults for all parents.
func inherits(s sdktrace.Sampler) bool {
	_, parents, _ := strings.Cut(sdktrace.ParentBased(sdktrace.NeverSample()).Description(),
		sdktrace.NeverSample().Description())
	return strings.HasPrefix(s.Description(), "ParentBased{root:") &&
		strings.HasSuffix(s.Description(), parents)
}

// decidesByTrace reports whether an SDK sampler samples all spans, or decides by the trace id
// alone, according to the description.
func decidesByTrace(s sdktrace.Sampler) bool {
	ratio, _, _ := strings.Cut(sdktrace.TraceIDRatioBased(1).Description(), "{")
	return s.Description() == sdktrace.AlwaysSample().Description() ||
		strings.HasPrefix(s.Description(), ratio+"{")
}

// shouldSample asks the sampler. A span is dropped if the program's sampler panics.
func (p *TracerProvider) shouldSample(
	params *sdktrace.SamplingParameters) (r sdktrace.SamplingResult) {
	if p.sdkSampler {
		return p.sampler.ShouldSample(*params)
	}
	if !p.timeline.Try("the sampler", func() { r = p.sampler.ShouldSample(*params) }) {
		r = sdktrace.SamplingResult{Decision: sdktrace.Drop,
			Tracestate: trace.SpanContextFromContext(params.ParentContext).TraceState()}
	}
	return r
}

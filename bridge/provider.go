package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/bridge/internal/attributes"
	"github.com/perfline/perfline/bridge/internal/keep"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/spanconfig"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/observer"
)

// An Output takes encoded spans. Its methods may be called concurrently.
type Output interface {
	// Accept takes spans that have ended, of many requests together. Each element of the list has
	// spans of one request and one scope; the elements of one request follow each other. Accept
	// must not block, since others wait behind these spans, and sometimes a request. A panic is
	// counted as the provider's Stats say, and these spans are lost. The list and the bytes are
	// valid during the call only, and other outputs get them, too: Accept changes neither.
	// [Spans.Clone] is for an output that keeps bytes.
	Accept([]Spans)

	// ForceFlush and Shutdown are as in a span processor.
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

// TracerProviderConfig configures [NewTracerProvider]. The zero value makes spans only for
// processors that are registered later.
type TracerProviderConfig struct {
	// nil means OTEL_TRACES_SAMPLER, which defaults to parentbased_always_on
	Sampler  sdktrace.Sampler
	Resource *resource.Resource // nil means resource.Default()
	// nil means OTEL_SPAN_* and the SDK's defaults; a negative limit means no limit
	Limits *sdktrace.SpanLimits
	IDs    sdktrace.IDGenerator // nil means random ids

	// Timeline is the process timeline whose marks and measures become events and spans. nil means
	// observer.ProcessTimeline().
	Timeline *observer.Timeline

	// Exporters take the spans that are sampled: exporter.Delivery is one. Recorders also take the
	// spans that are only recorded: requests.Recent is one.
	Exporters, Recorders []Output

	// Marks says what marks become. The recorders get them as events in every form, but see the
	// limitations of the package. Without Logs, marks are span events.
	Marks MarkForm

	// Logs, when set, takes marks as log records. The provider flushes it and shuts it down.
	Logs LogOutput

	// LogLimits are the limits of these records. nil means OTEL_LOGRECORD_* and OTEL_ATTRIBUTE_*.
	LogLimits *LogLimits

	// Keep says which requests the recorders get although the sampler drops them. nil means none.
	Keep *KeepPolicy

	// OnSlow, when set, is called for each request that Keep finds slow, and that is sampled or
	// kept. The caller is the goroutine that ended the local root, before its hand-over. OnSlow
	// must not block.
	OnSlow func(Root)

	// Processors are called when a span starts and when it has ended, on that goroutine. They see
	// the same spans as with the SDK's provider. Unlike there, a panic of theirs does not reach the
	// span's caller: it is counted.
	Processors []sdktrace.SpanProcessor

	// WithoutPanicRecording leaves out the event for a panic that [trace.Span]'s End meets.
	WithoutPanicRecording bool
}

// A TracerProvider makes spans as the SDK's provider does, at a fraction of the cost. Its methods,
// its tracers and its spans may be used concurrently.
//
// Spans wait in the journal of their local root: the span whose parent is not a span of this
// provider. A server span is a local root, too, unless a request that bridgehttp or bridgegrpc
// serves is above it. Spans are encoded after the end of 64 local roots, or after 100 ms. A long
// journal is encoded in parts before its root ends. Stats, flushes and readers of the outputs see
// all spans that have ended. A crash loses the spans of the last 100 ms, and up to 5 s of spans
// under a local root that has not ended.
//
// The differences from the SDK's provider are in docs/lab/tracerprovider.md.
type TracerProvider struct {
	embedded.TracerProvider

	sampler sdktrace.Sampler
	// all of it is the SDK's, which keeps no slice that it is given
	sdkSampler bool
	// it is the SDK's, and spans with a parent are sampled if the parent is
	inherits     bool
	samplesRoots bool // it inherits, and samples all spans without a parent
	// it is the SDK's, and samples each child of a span that it has sampled
	samplesBelow bool
	// nil: ids are random numbers, and roots say so (Trace Context 2, section 3.2.2.5.2)
	ids          sdktrace.IDGenerator
	limits       sdktrace.SpanLimits
	resource     *resource.Resource
	recordPanics bool
	keeper       *keep.Keeper // nil without a policy
	onSlow       func(Root)   // may be nil
	dropped      keep.Dropped
	routes       *routes.Table // counts local roots; nil: nothing counts them

	timeline *record.Timeline
	joined   joined
	detach   func()
	marks    *tracer   // of measures
	logs     *markLogs // of marks that wait in journals; nil: they do not become log records

	groups     otlpenc.Groups
	exporters  []Output
	recorders  []Output
	processors atomic.Pointer[[]sdktrace.SpanProcessor]
	closed     atomic.Bool
	shutdown   within.Once

	mu      sync.Mutex // guards what follows, and changes of processors
	tracers map[instrumentation.Scope]*tracer
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider returns a provider. The caller has to shut it down.
func NewTracerProvider(c TracerProviderConfig) *TracerProvider {
	vars := environ.NewReader(nil)
	p := &TracerProvider{
		sampler: c.Sampler, ids: c.IDs, resource: c.Resource, onSlow: c.OnSlow,
		recordPanics: !c.WithoutPanicRecording,
		exporters:    c.Exporters, recorders: c.Recorders, routes: routesOf(c.Recorders),
		tracers: map[instrumentation.Scope]*tracer{},
	}
	if p.sampler == nil {
		p.sampler = spanconfig.ReadSampler(vars, nil)
	}
	p.dropped.Count = p.countRoot
	if c.Keep != nil && !c.Keep.Off {
		if c.Keep.Factor > 0 && p.routes == nil {
			p.routes = routes.NewTable(routes.Config{})
		}
		p.keeper = keep.New(keep.Policy(*c.Keep), p.routes)
	}
	p.sdkSampler = isSDK(reflect.ValueOf(p.sampler))
	p.inherits = p.sdkSampler && inherits(p.sampler)
	p.samplesBelow = p.inherits || p.sdkSampler && decidesByTrace(p.sampler)
	p.samplesRoots = p.inherits &&
		strings.HasPrefix(p.sampler.Description(), "ParentBased{root:"+
			sdktrace.AlwaysSample().Description())
	if c.Limits != nil {
		p.limits = *c.Limits
	} else {
		p.limits = spanconfig.ReadLimits(vars)
	}
	p.limits.AttributeValueDepthLimit = cmp.Or(p.limits.AttributeValueDepthLimit,
		sdktrace.DefaultAttributeValueDepthLimit)
	if p.resource == nil {
		p.resource = resource.Default()
	}
	all := slices.Clone(c.Processors)
	p.processors.Store(&all)
	p.timeline = processTimeline((*record.Timeline)(c.Timeline))
	p.marks = p.tracer(scope.Scope())
	p.joined.tracer = func() trace.Tracer { return p.marks }
	p.joined.logs = newMarkLogs(p.timeline, c.Marks, c.Logs, c.LogLimits, p.resource, &p.groups)
	p.logs = p.joined.logs.ofSpans(len(c.Exporters)+len(c.Recorders) > 0)
	p.detach = p.joined.attach(p.timeline)
	p.serveReaders(c)
	return p
}

// routesOf returns the table of the first recorder that has one, as requests.Recent has, and nil
// without one. The provider adds the local roots to the table, since a recorder does not see those
// that the policy drops.
func routesOf(recorders []Output) *routes.Table {
	for _, o := range recorders {
		if r, ok := o.(interface{ Routes() *routes.Table }); ok {
			return r.Routes()
		}
	}
	return nil
}

// A readable is an output whose readers expect everything that ended before. It is
// [requests.Recent], [routes.Table] and [exporter.Delivery].
type readable interface {
	// OnRead says that readers call f first: also after Shutdown, since spans that end later are
	// counted.
	OnRead(f func())
}

// serveReaders lets readers of the outputs wait until these have everything that has ended.
func (p *TracerProvider) serveReaders(c TracerProviderConfig) {
	if p.routes != nil {
		p.routes.OnRead(p.handOverEnded)
	}
	all := []any{c.Logs}
	for _, o := range p.outputs() {
		all = append(all, o)
	}
	for _, o := range all {
		if r, ok := o.(readable); ok {
			r.OnRead(p.handOverEnded)
		}
	}
}

func (p *TracerProvider) outputs() []Output { return slices.Concat(p.recorders, p.exporters) }

// longestRead is how long a reader waits for hand-overs on other goroutines. An output that reads
// during its Accept waits for itself.
const longestRead = time.Second

// handOverEnded hands over, and counts, what has ended.
func (p *TracerProvider) handOverEnded() {
	p.dropped.CountNow()
	ctx, cancel := context.WithTimeout(context.Background(), longestRead)
	defer cancel()
	_ = p.timeline.HandOverEnded(ctx)
}

// processTimeline returns the process timeline of t, or the default one if t is nil.
func processTimeline(t *record.Timeline) *record.Timeline {
	t = cmp.Or(t, record.ProcessTimeline())
	for t.Parent() != nil {
		t = t.Parent()
	}
	return t
}

// tracerName is the name of tracers without one. It is the same as the SDK's.
const tracerName = "go.opentelemetry.io/otel/sdk/tracer"

// Tracer returns the tracer of an instrumentation scope, always the same one. After Shutdown, the
// tracer makes no spans.
func (p *TracerProvider) Tracer(name string, opts ...trace.TracerOption) trace.Tracer {
	if p.closed.Load() {
		return noop.NewTracerProvider().Tracer(name, opts...)
	}
	c := trace.NewTracerConfig(opts...)
	if name == "" {
		name = tracerName
	}
	scope := instrumentation.Scope{
		Name: record.Name(name), Version: record.Name(c.InstrumentationVersion()),
		SchemaURL:  record.Name(c.SchemaURL()),
		Attributes: c.InstrumentationAttributes(),
	}
	if scope.Attributes.Len() > 0 {
		all, _ := attributes.LimitList(scope.Attributes.ToSlice(),
			p.limits.AttributeValueDepthLimit, -1, -1)
		scope.Attributes = attribute.NewSet(all...)
	}
	return p.tracer(scope)
}

// maxTracers bounds the tracers that a provider remembers. Programs have one for each library.
// Further ones are made anew each time.
const maxTracers = 1024

func (p *TracerProvider) tracer(scope instrumentation.Scope) *tracer {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.tracers[scope]
	if !ok {
		t = &tracer{provider: p, scope: scope, group: p.groups.Group(p.resource, scope)}
		if len(p.tracers) < maxTracers {
			p.tracers[scope] = t
		}
	}
	return t
}

// RegisterSpanProcessor adds a processor. It does nothing after Shutdown.
func (p *TracerProvider) RegisterSpanProcessor(sp sdktrace.SpanProcessor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return
	}
	all := append(slices.Clone(*p.processors.Load()), sp)
	p.processors.Store(&all)
}

// UnregisterSpanProcessor removes a processor and shuts it down. It does nothing after Shutdown.
func (p *TracerProvider) UnregisterSpanProcessor(sp sdktrace.SpanProcessor) {
	if p.remove(sp) {
		if err := sp.Shutdown(context.Background()); err != nil {
			otel.Handle(err)
		}
	}
}

// remove removes the processor that was registered last of those that equal sp. It reports false
// without one.
func (p *TracerProvider) remove(sp sdktrace.SpanProcessor) (ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() || !reflect.ValueOf(sp).Comparable() {
		return false
	}
	all := slices.Clone(*p.processors.Load())
	for i, r := range slices.Backward(all) {
		if reflect.ValueOf(r).Comparable() && r == sp {
			all = slices.Delete(all, i, i+1)
			p.processors.Store(&all)
			return true
		}
	}
	return false
}

// grace is how long ForceFlush and Shutdown go on after their context.
const grace = 2 * within.Grace

// ForceFlush hands over the spans that have ended before the call, and flushes the outputs, Logs
// beside the others, and then the processors. It returns all their errors. It returns shortly after
// the end of ctx, whatever hangs: the error names that then.
func (p *TracerProvider) ForceFlush(ctx context.Context) error {
	r := within.Begin(ctx, grace)
	r.Do(handOver, p.timeline.FlushUnits)
	p.flushOutputs(r)
	for _, sp := range *p.processors.Load() {
		if ctx.Err() != nil {
			return errors.Join(r.End(), ctx.Err())
		}
		r.Do(nameOf("the span processor", sp), sp.ForceFlush)
	}
	return r.End()
}

const handOver = "bridge: the hand-over of spans that have ended"

// nameOf names what a program has given, for errors.
func nameOf(what string, given any) string { return fmt.Sprintf("bridge: %s %T", what, given) }

// flushOutputs flushes the outputs. Spans and log records do not wait for each other's backend.
func (p *TracerProvider) flushOutputs(r *within.Run) {
	if p.logs != nil {
		r.Go(nameOf("the log output", p.logs.output), p.logs.output.ForceFlush)
	}
	for _, o := range p.outputs() {
		r.Do(nameOf("the output", o), o.ForceFlush)
	}
}

// Shutdown hands over the spans that have ended before the call, and shuts down the processors and
// then the outputs, even if ctx has ended. It returns all their errors. It returns shortly after
// the end of ctx, whatever hangs: the error names that then. Outputs count spans that end later as
// dropped. Further calls wait for the first one, within their own context, and return the same
// error.
func (p *TracerProvider) Shutdown(ctx context.Context) error {
	// more than stop, to have its errors
	return p.shutdown.Do(ctx, grace+within.Grace/3, "bridge: the shutdown of the provider", p.stop)
}

func (p *TracerProvider) stop(ctx context.Context) error {
	p.mu.Lock()
	all := *p.processors.Load()
	p.closed.Store(true)
	p.mu.Unlock()
	// it does not wait for backends
	flushUnits := func(ctx context.Context) error {
		return p.timeline.FlushUnits(
			context.WithoutCancel(ctx))
	}
	r := within.Begin(ctx, grace)
	r.Do(handOver, flushUnits)
	p.flushOutputs(r) // before processors, which may hang
	for _, sp := range all {
		r.Do(nameOf("the span processor", sp), sp.Shutdown)
	}
	p.processors.Store(new([]sdktrace.SpanProcessor))
	r.Do(handOver, flushUnits)
	p.detach()
	r.Do(handOver, func(context.Context) error {
		p.timeline.AbandonUnits(receiver{p})
		return nil
	})
	if p.logs != nil {
		r.Go(nameOf("the log output", p.logs.output), p.logs.output.Shutdown)
	}
	for _, o := range p.outputs() {
		r.Do(nameOf("the output", o), o.Shutdown)
	}
	return r.End()
}

// Stats returns the counts of the provider. The counts of lost marks, and MarksWithoutSpan, cover
// all providers of its timeline.
func (p *TracerProvider) Stats() Stats {
	p.handOverEnded()
	return p.joined.stats.read(p.timeline, p.logs)
}

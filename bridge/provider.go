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
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/keep"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/routes"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/spanconfig"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/observer"
)

// An Output receives encoded spans. All methods may be called concurrently.
type Output interface {
	// Accept receives ended spans of several requests. Each list element contains spans of one
	// request and one scope. The elements of a request are adjacent.
	//
	// Accept must not block, because other spans, and sometimes a request, wait until Accept
	// returns. If Accept panics, the spans are lost, and Stats.Panics counts the panic.
	//
	// The list and the bytes are valid only during the call. Accept must not change the list or the
	// bytes, because other outputs receive the same list. An output that retains the bytes calls
	// [Spans.Clone].
	Accept([]Spans)

	// ForceFlush and Shutdown behave as in a span processor.
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

// TracerProviderConfig configures [NewTracerProvider]. With the zero value, the provider delivers
// spans only to processors that the program registers later.
type TracerProviderConfig struct {
	Sampler  sdktrace.Sampler     // nil means OTEL_TRACES_SAMPLER, by default parentbased_always_on
	Resource *resource.Resource   // nil means resource.Default()
	Limits   *sdktrace.SpanLimits // nil means OTEL_SPAN_*; a negative limit means no limit
	IDs      sdktrace.IDGenerator // nil means random ids

	// Timeline is the process timeline. The provider converts the timeline's marks to events and
	// the measures to spans. nil means observer.ProcessTimeline().
	Timeline *observer.Timeline

	// Exporters receive sampled spans. An example is exporter.Delivery. Recorders receive sampled
	// spans and spans that are only recorded. An example is requests.Recent.
	Exporters, Recorders []Output

	// Marks is the form of marks. Without Logs, marks are span events. Recorders receive marks as
	// events in every form: see the limitations of the package.
	Marks MarkForm

	// Logs, when set, receives marks as log records. The provider flushes Logs and shuts Logs down.
	Logs LogOutput

	// LogLimits are the limits of the log records. nil means OTEL_LOGRECORD_* and OTEL_ATTRIBUTE_*.
	LogLimits *LogLimits

	// Keep selects requests that the recorders receive although the sampler drops the requests. nil
	// selects no requests.
	Keep *KeepPolicy

	// OnSlow, when set, is called for each request that Keep classifies as slow, if the request is
	// sampled or kept. exported reports whether the exporters will receive the request. OnSlow must
	// not block, because the caller is the goroutine that ended the local root. OnSlow is called
	// before the hand-over of the spans. Inner requests are included: see Root.Class.
	// OnSlow changes the default of KeepPolicy.Factor.
	OnSlow func(_ Root, exported bool)

	// Processors are called on the goroutine that starts or ends a span. Processors receive the
	// same spans as from the SDK's provider. The provider recovers and counts panics of processors.
	// The SDK's provider does not recover such panics.
	Processors []sdktrace.SpanProcessor

	// WithoutPanicRecording disables the exception event that End adds if End runs during a panic
	// ([trace.Span]).
	WithoutPanicRecording bool
}

// A TracerProvider creates spans like the SDK's provider, at a fraction of the cost. All methods of
// the provider, the tracers and the spans may be called concurrently.
//
// The provider stores a span in the journal of the span's local root. A local root is a span
// without a parent of this provider. A server span is also a local root, unless bridgehttp or
// bridgegrpc serves the request that contains the span.
//
// The provider encodes spans when 64 local roots have ended, or after 100 ms. If a journal is long,
// the provider encodes parts of the journal before the local root ends. Stats, flushes and readers
// of the outputs include all ended spans. A crash loses the spans of the last 100 ms. Under an open
// local root, a crash loses the spans of up to 5 s.
//
// docs/lab/tracerprovider.md lists the differences from the SDK's provider.
type TracerProvider struct {
	embedded.TracerProvider

	sampler         sdktrace.Sampler
	sdkSampler      bool // sampler and its parts are the SDK's, which retain no slices
	inherits        bool // sdkSampler, and a child is sampled exactly if the parent is
	samplesRoots    bool // inherits, and all spans without a parent are sampled
	samplesChildren bool // sdkSampler, and a child of a sampled span is sampled

	ids          sdktrace.IDGenerator // nil: random ids (Trace Context 2, section 3.2.2.5.2)
	limits       sdktrace.SpanLimits
	resource     *resource.Resource
	recordPanics bool
	keeper       *keep.Keeper     // nil without a policy
	onSlow       func(Root, bool) // may be nil
	dropped      keep.DroppedRoots
	routes       *routes.Table // counts local roots; may be nil
	strays       strayCounter  // may be nil
	calls        openCalls

	timeline   *record.Timeline
	attachment attachment
	detach     func()
	marks      *tracer   // makes the spans of measures
	logs       *markLogs // makes log records of marks in journals; may be nil

	groups     otlpenc.Groups
	exporters  []Output
	recorders  []Output
	processors atomic.Pointer[[]sdktrace.SpanProcessor]
	closed     atomic.Bool
	shutdown   within.Once

	mu      sync.Mutex // guards tracers, and changes of processors
	tracers map[instrumentation.Scope]*tracer
}

var _ trace.TracerProvider = (*TracerProvider)(nil)

// NewTracerProvider returns a provider. The caller must call Shutdown.
func NewTracerProvider(c TracerProviderConfig) *TracerProvider {
	vars := environ.NewReader(nil)
	p := &TracerProvider{
		sampler: c.Sampler, ids: c.IDs, resource: c.Resource, onSlow: c.OnSlow,
		recordPanics: !c.WithoutPanicRecording,
		exporters:    c.Exporters, recorders: c.Recorders, routes: routesOf(c.Recorders),
		strays:  straysOf(c.Recorders),
		tracers: map[instrumentation.Scope]*tracer{},
	}
	if p.sampler == nil {
		p.sampler = spanconfig.ReadSampler(vars, nil)
	}
	p.dropped.Count = p.countRoot
	if c.Keep != nil && !c.Keep.Off {
		p.keeper = p.newKeeper(keep.Policy(*c.Keep))
	}
	p.sdkSampler = isSDK(reflect.ValueOf(p.sampler))
	p.inherits = p.sdkSampler && inherits(p.sampler)
	p.samplesChildren = p.inherits || p.sdkSampler && decidesByTrace(p.sampler)
	p.samplesRoots = p.inherits && strings.HasPrefix(p.sampler.Description(),
		"ParentBased{root:"+sdktrace.AlwaysSample().Description())
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
	p.attachment.tracer = func() trace.Tracer { return p.marks }
	p.attachment.logs = newMarkLogs(p.timeline, c.Marks, c.Logs, c.LogLimits, p.resource, &p.groups)
	p.logs = p.attachment.logs.forSpans(len(c.Exporters)+len(c.Recorders) > 0)
	p.detach = p.attachment.attach(p.timeline)
	p.serveReaders(c)
	return p
}

// newKeeper returns a keeper, and sets the rule for slow requests in the table of routes. Without a
// table, newKeeper creates a table if the rule needs the usual durations of routes.
func (p *TracerProvider) newKeeper(policy keep.Policy) *keep.Keeper {
	rule, table := policy.SlowRule(p.onSlow != nil), p.routes
	if table == nil {
		table = routes.NewTable(routes.Config{})
	}
	table.SetSlowRule(rule)
	if rule.Factor > 0 {
		p.routes = table
	}
	return keep.New(policy, table)
}

// routesOf returns the route table of the first recorder with a table, such as requests.Recent, or
// nil. The provider adds local roots to the table, because recorders do not receive dropped
// requests.
func routesOf(recorders []Output) *routes.Table {
	for _, o := range recorders {
		if r, ok := o.(interface{ Routes() *routes.Table }); ok {
			return r.Routes()
		}
	}
	return nil
}

// A strayCounter counts queries, calls and messages that start in a context without a span, by the
// place on the caller's stack: requests.Recent. NoteRequest says that a request starts.
type strayCounter interface {
	NoteRequest()
	NoteStray(name, scope string, kind trace.SpanKind, attrs []attribute.KeyValue)
}

// straysOf returns the first recorder that counts strays, or nil.
func straysOf(recorders []Output) strayCounter {
	for _, o := range recorders {
		if s, ok := o.(strayCounter); ok {
			return s
		}
	}
	return nil
}

// A readNotifier is an output that must hold all ended spans before a read: [requests.Recent],
// [routes.Table] or [exporter.Delivery].
type readNotifier interface {
	// OnRead sets a function that readers call first, also after Shutdown, because spans that end
	// later are counted.
	OnRead(f func())
}

// serveReaders lets readers of the outputs hand over all ended spans first.
func (p *TracerProvider) serveReaders(c TracerProviderConfig) {
	if p.routes != nil {
		p.routes.OnRead(p.handOverEnded)
	}
	notify := func(output any) {
		if r, ok := output.(readNotifier); ok {
			r.OnRead(p.handOverEnded)
		}
	}
	notify(c.Logs)
	for _, o := range p.outputs() {
		notify(o)
	}
}

func (p *TracerProvider) outputs() []Output { return slices.Concat(p.recorders, p.exporters) }

// readTimeout is the longest time that a reader waits for hand-overs on other goroutines. An output
// that reads during its own Accept would wait for ever.
const readTimeout = time.Second

// handOverEnded hands over all ended spans, and counts dropped requests.
func (p *TracerProvider) handOverEnded() {
	p.dropped.CountNow()
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	_ = p.timeline.HandOverEnded(ctx)
}

// processTimeline returns the process timeline of t, or the default timeline if t is nil.
func processTimeline(t *record.Timeline) *record.Timeline {
	t = cmp.Or(t, record.ProcessTimeline())
	for t.Parent() != nil {
		t = t.Parent()
	}
	return t
}

// tracerName is the name of tracers without a name, as in the SDK.
const tracerName = "go.opentelemetry.io/otel/sdk/tracer"

// Tracer returns the tracer of an instrumentation scope. All calls with the same scope return the
// same tracer. After Shutdown, Tracer returns a tracer that creates no-op spans.
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

// maxTracers is the largest number of tracers that a provider stores. Programs use one tracer for
// each library. Further tracers are made in each call.
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

// RegisterSpanProcessor adds a processor. After Shutdown, RegisterSpanProcessor does nothing.
func (p *TracerProvider) RegisterSpanProcessor(sp sdktrace.SpanProcessor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return
	}
	all := append(slices.Clone(*p.processors.Load()), sp)
	p.processors.Store(&all)
}

// UnregisterSpanProcessor removes a processor and shuts the processor down. After Shutdown,
// UnregisterSpanProcessor does nothing.
func (p *TracerProvider) UnregisterSpanProcessor(sp sdktrace.SpanProcessor) {
	if p.remove(sp) {
		if err := sp.Shutdown(context.Background()); err != nil {
			otel.Handle(err)
		}
	}
}

// remove removes the last registered processor that equals sp, or returns false.
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

func (p *TracerProvider) onStart(ctx context.Context, s *recordedSpan) {
	for _, sp := range *p.processors.Load() {
		p.timeline.Try("a span processor's OnStart", func() { sp.OnStart(ctx, s) })
	}
}

func (p *TracerProvider) onEnd(s *recordedSpan) {
	if s.tentative {
		return
	}
	for _, sp := range *p.processors.Load() {
		p.timeline.Try("a span processor's OnEnd", func() { sp.OnEnd(endedSpan{s}) })
	}
}

// grace is the time that ForceFlush and Shutdown continue after the end of their context.
const grace = 2 * within.Grace

// ForceFlush delivers all spans that ended before the call. ForceFlush flushes the outputs, then
// the processors, and returns all errors. Logs are flushed in parallel to the other outputs. If a
// component hangs, ForceFlush returns shortly after the end of ctx. The error then names the
// component.
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

// nameOf names a component of the program in errors.
func nameOf(role string, component any) string {
	return fmt.Sprintf("bridge: %s %T", role, component)
}

// flushOutputs flushes the outputs. Logs is flushed in parallel, so that spans and log records do
// not wait for each other's backend.
func (p *TracerProvider) flushOutputs(r *within.Run) {
	if p.logs != nil {
		r.Go(nameOf("the log output", p.logs.output), p.logs.output.ForceFlush)
	}
	for _, o := range p.outputs() {
		r.Do(nameOf("the output", o), o.ForceFlush)
	}
}

// Shutdown delivers all spans that ended before the call. Shutdown then shuts down the processors
// and the outputs, even if ctx has ended. Shutdown returns all errors. If a component hangs,
// Shutdown returns shortly after the end of ctx. The error then names the component.
//
// Outputs count spans that end after Shutdown as dropped. A further call waits for the first call,
// and returns the same error. The ctx of the further call limits this wait.
func (p *TracerProvider) Shutdown(ctx context.Context) error {
	// a longer grace than in stop, to return the errors of stop
	return p.shutdown.Do(ctx, grace+within.Grace/3, "bridge: the shutdown of the provider", p.stop)
}

func (p *TracerProvider) stop(ctx context.Context) error {
	p.mu.Lock()
	all := *p.processors.Load()
	p.closed.Store(true)
	p.mu.Unlock()
	// without cancellation, because FlushUnits does not wait for backends
	flushUnits := func(ctx context.Context) error {
		return p.timeline.FlushUnits(context.WithoutCancel(ctx))
	}
	r := within.Begin(ctx, grace)
	r.Do(handOver, flushUnits)
	p.flushOutputs(r) // before the processors, which may hang
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

// Stats returns the counts of the provider. The counts of lost marks and MarksWithoutSpan include
// all providers of the timeline.
func (p *TracerProvider) Stats() Stats {
	p.handOverEnded()
	return p.attachment.stats.read(p.timeline, p.logs)
}

// RequestCounts returns the decisions of the provider's [KeepPolicy]. Each ended request, sampled
// or not, counts under exactly one of these words:
//
//   - "chosen", "failed", "slow", "error_inside", "share": kept for this reason
//   - "over_ceiling": not kept, over KeepPolicy.PerSecond
//   - "error_inside_over_ceiling": not kept, over the ceiling of requests with only an error inside
//   - "other": without a reason
//
// RequestCounts also returns these counts:
//
//   - "exported": kept requests that the sampler dropped and that were exported
//   - "untracked": local roots that the sampler dropped and the policy ignored, because most local
//     roots of their instrumentation scope never end
//   - "refused": marks, measures and spans that were dropped before the decision, because memory
//     was full. This count includes all providers of the timeline.
//   - "forgotten_calls": open client spans that other client spans replaced, because too many were
//     open. A request that such a span sends to this process counts as a request of its own.
//
// The map is the caller's.
func (p *TracerProvider) RequestCounts() map[string]uint64 {
	p.handOverEnded()
	return p.attachment.stats.readRequests(p.timeline)
}

package bridge_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
)

// These parts of a program are called by both providers. Each one notes how it is called, and does what the plan says.

// A plan is what the parts do during an operation. It is the same for both sides.
type plan struct {
	ids        int // 0: unique, 1: one of few, 2: zero
	decision   sdktrace.SamplingDecision
	sampler    []attribute.KeyValue
	state      int // of the trace: 0: the parent's, 1: none, 2: another one
	whenStarts []action
	fails      bool // calls that can return an error do
}

var anotherState, _ = trace.ParseTraceState("vendor=sampler")

// ids is an IDGenerator.
type ids struct{ s *side }

func (g ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	g.s.note("new ids under %s", contextText(trace.SpanContextFromContext(ctx)))
	copy(t[:], g.next())
	copy(s[:], g.next())
	return t, s
}

func (g ids) NewSpanID(ctx context.Context, t trace.TraceID) (s trace.SpanID) {
	g.s.note("new span id of %s under %s", t, contextText(trace.SpanContextFromContext(ctx)))
	copy(s[:], g.next())
	return s
}

func (g ids) next() []byte {
	g.s.id++
	id := g.s.id
	switch g.s.plan.ids {
	case 1:
		id %= 4
	case 2:
		id = 0
	}
	return binary.LittleEndian.AppendUint64(nil, id)
}

// sampler is a sampler that is not of the SDK.
type sampler struct{ s *side }

func (p sampler) Description() string { return "plan" }

func (p sampler) ShouldSample(a sdktrace.SamplingParameters) sdktrace.SamplingResult {
	parent := trace.SpanContextFromContext(a.ParentContext)
	p.s.note("sample %q of %s under %s value %v kind %d%s", a.Name, a.TraceID, contextText(parent), a.ParentContext.Value(contextKey{}), a.Kind, attributesText(a.Attributes))
	for _, l := range a.Links {
		p.s.note("link %s%s", contextText(l.SpanContext), attributesText(l.Attributes))
	}
	p.s.lend(a.Attributes)
	r := sdktrace.SamplingResult{Decision: p.s.plan.decision, Attributes: p.s.lend(slices.Clone(p.s.plan.sampler))}
	switch p.s.plan.state {
	case 0:
		r.Tracestate = parent.TraceState()
	case 2:
		r.Tracestate = anotherState
	}
	return r
}

type contextKey struct{}

// processor keeps the spans that end, with their texts at that time.
type processor struct {
	s     *side
	name  string
	keeps bool // spans for the comparison of requests
	spans []sdktrace.ReadOnlySpan
	texts []string
}

func (p *processor) OnStart(ctx context.Context, span sdktrace.ReadWriteSpan) {
	if p.s.bursts {
		return
	}
	p.s.recorded(span)
	p.s.note("%s starts under %s value %v %s", p.name, contextText(trace.SpanContextFromContext(ctx)), ctx.Value(contextKey{}), spanText(span))
	if !p.s.isSDK {
		scribble(span)
	}
	if p.s.within { // spans that actions start do not start others
		return
	}
	p.s.within = true
	defer func() { p.s.within = false }()
	for _, a := range p.s.plan.whenStarts {
		a.do(p.s, ctx, span)
	}
}

func (p *processor) OnEnd(span sdktrace.ReadOnlySpan) {
	if p.s.bursts && !p.keeps {
		return
	}
	if live, ok := p.s.current.(sdktrace.ReadOnlySpan); ok && p.s.isSDK {
		span = withDropped{span, live.DroppedEvents(), live.DroppedLinks()}
	} else if _, ok := span.(trace.Span); ok {
		p.s.note("%s: a span that has ended can be changed", p.name)
	}
	text := spanText(span)
	p.s.note("%s ends %s", p.name, text)
	p.spans, p.texts = append(p.spans, span), append(p.texts, text)
	if !p.s.isSDK {
		scribble(span)
	}
}

// scribble changes the slices that a reader receives. With ours, that changes no span. With the SDK's, it may.
func scribble(s sdktrace.ReadOnlySpan) {
	clear(s.Attributes())
	for _, e := range s.Events() {
		clear(e.Attributes)
	}
	for _, l := range s.Links() {
		clear(l.Attributes)
	}
	clear(s.Events())
	clear(s.Links())
}

func (p *processor) ForceFlush(ctx context.Context) error { return p.call("flush", ctx) }
func (p *processor) Shutdown(ctx context.Context) error   { return p.call("shut down", ctx) }

func (p *processor) call(what string, ctx context.Context) error {
	p.s.note("%s: %s, %v", p.name, what, ctx.Err())
	if p.s.plan.fails {
		return errors.New(p.name + " cannot " + what)
	}
	return nil
}

// A span of the SDK forgets how many events it dropped if it has none, because the limit is 0. The same holds for links. Ours
// does not: the judge takes the numbers of the span itself.
type withDropped struct {
	sdktrace.ReadOnlySpan
	events, links int
}

func (s withDropped) DroppedEvents() int { return s.events }
func (s withDropped) DroppedLinks() int  { return s.links }

// An output keeps spans until it is shut down.
type output struct {
	readable

	mu       sync.Mutex
	spans    []bridge.Spans
	count    int
	flushes  int
	down     bool
	accepted func(bridge.Spans) // nil: nothing
}

var _ bridge.Output = (*output)(nil)

func (o *output) Accept(all []bridge.Spans) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return
	}
	for _, s := range all {
		s = s.Clone()
		o.spans = append(o.spans, s)
		o.count += s.Count
		if o.accepted != nil {
			o.accepted(s)
		}
	}
}

// taken returns the spans that have ended.
func (o *output) taken() []bridge.Spans {
	o.read()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.spans
}

// inside returns spans as package otlpenc has them.
func inside(all []bridge.Spans) (list []otlpenc.Spans) {
	for _, s := range all {
		list = append(list, otlpenc.Spans(s))
	}
	return list
}

func (o *output) ForceFlush(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushes++
	return nil
}

func (o *output) Shutdown(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.down {
		return fmt.Errorf("the output is shut down again")
	}
	o.down = true
	return nil
}

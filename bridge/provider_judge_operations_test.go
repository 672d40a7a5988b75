package bridge_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/observer"
)

const (
	maxOperations = 200
	maxSpans      = 64
)

// run does operations as long as there are bytes.
func (j *judge) run() {
	j.t.Helper()
	for len(j.Data) > 0 && len(j.history) < maxOperations {
		j.operation()
		j.compare()
	}
	j.compareAll()
}

func (j *judge) operation() {
	j.t.Helper()
	switch op := j.Below(42); {
	case op < 9:
		j.start()
	case op < 20:
		j.act()
	case op < 23:
		j.context()
	case op < 25:
		j.tracer()
	case op < 27:
		j.registration()
	case op < 29:
		d := []time.Duration{1, time.Millisecond, 3 * time.Second, 11 * time.Second}[j.Below(4)]
		j.did("wait %v", d)
		time.Sleep(d)
	case op < 30:
		for i := range j.ours.spans {
			j.read(i)
		}
		j.did("read all")
	case op < 31:
		j.flushOrShutdown()
	case op < 38:
		j.record()
	case op < 41:
		j.endTiming()
	default:
		if j.Below(16) == 0 && !j.bursted {
			j.burst()
		}
	}
}

func (j *judge) did(format string, args ...any) {
	j.history = append(j.history, fmt.Sprintf(format, args...))
}

// start starts a span with any options.
func (j *judge) start() {
	if len(j.ours.spans) == maxSpans {
		return
	}
	j.plan = j.newPlan()
	tracer, under, name := j.Below(len(j.ours.tracers)), j.Below(len(j.ours.contexts)), record.Name(j.text())
	options, text := j.startOptions()
	j.did("span %d = Start by tracer %d under context %d, %s decision %d, ids %d, sampler's %d attributes, on start %v", len(j.ours.spans), tracer, under, text, j.plan.decision, j.plan.ids, len(j.plan.sampler), j.plan.whenStarts)
	for _, s := range j.sides() {
		ctx := s.contexts[under]
		if _, ok := s.tracers[tracer].(noop.Tracer); ok && ctx == nil { // after Shutdown: that tracer panics
			ctx = context.Background()
		}
		ctx, span := s.tracers[tracer].Start(ctx, name, options(s)...)
		if s.contexts[under] == nil {
			ctx = observer.NewContext(ctx, s.timeline)
		}
		s.note("active %t of provider %t %t", trace.SpanContextFromContext(ctx).Equal(span.SpanContext()), span.TracerProvider() == s.providers[0], span.TracerProvider() == s.providers[1])
		s.spans, s.contexts = append(s.spans, span), append(s.contexts, ctx)
	}
}

func (j *judge) newPlan() *plan {
	p := &plan{ids: max(0, j.Below(16)-13), decision: sdktrace.RecordAndSample, state: j.Below(3)}
	if d := j.Below(8); d < 3 {
		p.decision = sdktrace.SamplingDecision(d)
	}
	if j.Below(4) == 0 {
		p.sampler = j.attributes()
	}
	if j.Below(4) == 0 {
		for range j.Below(4) {
			p.whenStarts = append(p.whenStarts, j.action())
		}
	}
	return p
}

// startOptions returns a function, because each side needs attributes of its own.
func (j *judge) startOptions() (options func(*side) []trace.SpanStartOption, text string) {
	var fixed []trace.SpanStartOption
	if j.Below(8) == 0 {
		fixed, text = append(fixed, trace.WithNewRoot()), "new root, "
	}
	if j.Below(4) == 0 {
		t := j.Time()
		fixed, text = append(fixed, trace.WithTimestamp(t)), text+"at "+t.String()+", "
	}
	if j.Below(2) == 0 {
		fixed = append(fixed, trace.WithSpanKind(trace.SpanKind(j.Below(9)-2)))
	}
	lists := make([][]attribute.KeyValue, j.Below(3))
	for i := range lists {
		lists[i] = j.attributes()
	}
	text = fmt.Sprintf("%s%d lists of attributes,", text, len(lists))
	var links []func(*side) trace.Link
	for range max(0, j.Below(8)-4) {
		links = append(links, j.link())
	}
	return func(s *side) []trace.SpanStartOption {
		all := slices.Clone(fixed)
		for _, attrs := range lists {
			all = append(all, trace.WithAttributes(s.lend(slices.Clone(attrs))...))
		}
		var own []trace.Link
		for _, l := range links {
			own = append(own, l(s))
		}
		return append(all, trace.WithLinks(own...))
	}, text
}

// act does something with a span, most often with a young one.
func (j *judge) act() {
	n := len(j.ours.spans)
	if n == 0 {
		return
	}
	i := n - 1 - j.Below(min(n, 4))
	if j.Below(4) == 0 {
		i = j.Below(n)
	}
	a, read := j.action(), j.Below(2) == 0
	j.did("span %d %s, read %t", i, a.text, read)
	for _, s := range j.sides() {
		a.do(s, context.Background(), s.spans[i])
	}
	if read {
		j.read(i)
	}
}

// context makes a context as programs and propagators do.
func (j *judge) context() {
	under := j.Below(len(j.ours.contexts))
	kind, sc := j.Below(8), j.Context()
	value := j.Below(256)
	j.plan = j.newPlan()
	j.did("context %d of %d, kind %d", len(j.ours.contexts), under, kind)
	for _, s := range j.sides() {
		ctx := s.contexts[under]
		if ctx == nil {
			ctx = s.base
		}
		switch kind {
		case 0:
			ctx = context.WithValue(ctx, contextKey{}, value)
		case 1:
			ctx = trace.ContextWithRemoteSpanContext(ctx, sc)
		case 2:
			ctx = trace.ContextWithSpanContext(ctx, sc)
		case 3:
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			cancel()
		case 4:
			ctx = trace.ContextWithSpan(ctx, nil)
		case 5:
			ctx = trace.ContextWithSpan(ctx, wrappedSpan{trace.SpanFromContext(ctx)})
		case 6:
			ctx, _ = s.foreign.Tracer("foreign").Start(ctx, "foreign")
			ctx = observer.NewContext(ctx, s.timeline) // the foreign provider has another one
		default:
			ctx = s.base
		}
		s.contexts = append(s.contexts, ctx)
	}
}

type wrappedSpan struct{ trace.Span }

// tracer makes a tracer, or finds one.
func (j *judge) tracer() {
	provider := j.Below(providers)
	name := record.Name([]string{"", "shop", "payment", j.Text()}[j.Below(4)])
	var options []trace.TracerOption
	if j.Below(2) == 0 {
		options = append(options, trace.WithInstrumentationVersion(record.Name(j.Text())), trace.WithSchemaURL(record.Name(j.Text())))
	}
	if j.Below(2) == 0 {
		options = append(options, trace.WithInstrumentationAttributes(j.attributes()...))
	}
	if j.Below(4) == 0 {
		options = append(options, trace.WithInstrumentationAttributeSet(attribute.NewSet(j.attributes()...)))
	}
	j.did("tracer %d of provider %d, %q", len(j.ours.tracers), provider, name)
	for _, s := range j.sides() {
		tracer := s.providers[provider].Tracer(name, options...)
		s.note("it is tracer %d", slices.Index(s.tracers, tracer))
		s.tracers = append(s.tracers, tracer)
	}
}

// registration adds and removes processors, perhaps again. Their order matters.
func (j *judge) registration() {
	for range 1 + j.Below(6) {
		provider, i, adds := j.Below(providers), j.Below(len(j.ours.optional)), j.Below(3) > 0
		j.did("processor %d of provider %d added %t", i, provider, adds)
		for _, s := range j.sides() {
			if adds {
				s.providers[provider].RegisterSpanProcessor(s.optional[i])
			} else {
				s.providers[provider].UnregisterSpanProcessor(s.optional[i])
			}
		}
	}
}

func (j *judge) flushOrShutdown() {
	provider, kind := j.Below(providers), j.Below(8)
	j.plan = &plan{fails: j.Below(2) == 0}
	switch kind {
	case 0:
		j.did("Shutdown of provider %d", provider)
		j.down = true
		for _, s := range j.sides() {
			s.note("Shutdown: %v", s.providers[provider].Shutdown(context.Background()))
		}
	case 1:
		j.did("ForceFlush of provider %d, too late", provider)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		var late []bool // without processors, the SDK does not look at ctx
		for _, s := range j.sides() {
			err := s.providers[provider].ForceFlush(ctx)
			if late = append(late, errors.Is(err, ctx.Err())); err != nil && !late[len(late)-1] {
				j.fatalf("ForceFlush with a canceled context: %v", err)
			}
		}
		if late[1] && !late[0] {
			j.fatalf("ForceFlush does not return the error of a canceled context")
		}
	default:
		j.did("ForceFlush of provider %d", provider)
		j.flush(provider)
	}
}

// burst starts and ends more spans than a part of a unit has. It takes long, so it comes once.
func (j *judge) burst() {
	j.bursts, j.bursted = true, true
	defer func() { j.bursts = false }()
	tracer, under := j.Below(len(j.ours.tracers)), j.Below(len(j.ours.contexts))
	j.plan = &plan{decision: sdktrace.RecordAndSample}
	j.did("burst by tracer %d under context %d", tracer, under)
	for _, s := range j.sides() {
		ctx := s.contexts[under]
		if ctx == nil {
			ctx = context.Background()
		}
		for range 600 {
			_, span := s.tracers[tracer].Start(ctx, "burst")
			s.current = span
			span.End()
		}
		s.calls = s.calls[:0] // there are very many
	}
}

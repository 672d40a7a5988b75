package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/spanfuzz"
	"github.com/perfline/perfline/observer"
)

// A judge does the same with our provider and with the SDK's, and compares what a program can see. It runs in a bubble of
// testing/synctest, so that times are equal. The fuzzer's bytes choose the operations and their values.
type judge struct {
	spanfuzz.Source
	t    *testing.T
	plan *plan // of the current operation

	ours, sdk *side // have the same tracers, contexts and spans at the same places
	records   bool  // our provider has recorders
	bursts    bool  // now: only the keepers look at the spans
	bursted   bool
	down      bool // a provider
	history   []string
}

// providers of each side: a trace may go through several.
const providers = 2

// A side has one implementation, and everything that a program has of it.
type side struct {
	*judge
	isSDK     bool
	timeline  *observer.Timeline
	base      context.Context // carries the timeline
	providers [providers]anyProvider
	foreign   trace.TracerProvider // the other implementation, whose spans come into contexts
	tracers   []trace.Tracer
	contexts  []context.Context
	spans     []trace.Span
	optional  []*processor // that are registered and unregistered
	keepers   [providers]*processor
	exporters [providers]*output // ours
	recorders [providers]*output

	timings   []timing
	recording bool // now: a mark or a measure

	id      uint64 // the last one
	within  bool   // a call of a processor
	current trace.Span
	calls   []string // since the last comparison
	lent    []lent
}

// lent attributes must not change: they belong to the program.
type lent struct {
	attrs []attribute.KeyValue
	text  string
}

func (s *side) lend(attrs []attribute.KeyValue) []attribute.KeyValue {
	if !s.isSDK && len(attrs) > 0 {
		s.lent = append(s.lent, lent{attrs, attributesText(attrs)})
	}
	return attrs
}

func (s *side) note(format string, args ...any) {
	s.calls = append(s.calls, fmt.Sprintf(format, args...))
}

func newJudge(t *testing.T, data []byte) *judge {
	t.Helper()
	j := &judge{Source: spanfuzz.Source{Data: data, MaxDepth: 28}, t: t, plan: &plan{}}
	limits := j.limits()
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	if j.Below(8) == 0 {
		res = resource.NewWithAttributes(j.Text(), j.Attributes(0)...)
	}
	kind, share := j.Below(10), j.Float()
	withoutPanics := j.Below(4) == 0
	j.records = j.Below(4) > 0
	j.ours, j.sdk = &side{judge: j}, &side{judge: j, isSDK: true}
	for _, s := range j.sides() {
		s.timeline = observer.NewTimeline(observer.TimelineOptions{})
		s.base = observer.NewContext(context.Background(), s.timeline)
		var limited *sdktrace.SpanLimits
		options := []sdktrace.TracerProviderOption{
			sdktrace.WithResource(res), sdktrace.WithIDGenerator(ids{s}), sdktrace.WithSampler(s.sampler(kind, share)),
		}
		if limits != nil {
			limited = new(*limits)
			options = append(options, sdktrace.WithRawSpanLimits(*limits))
		}
		if withoutPanics {
			options = append(options, sdktrace.WithoutPanicRecording())
		}
		for i := range s.providers {
			s.keepers[i] = &processor{s: s, name: fmt.Sprint("keeper ", i), keeps: true}
			if s.isSDK {
				tp := sdktrace.NewTracerProvider(append(slices.Clone(options), sdktrace.WithSpanProcessor(s.keepers[i]))...)
				tp.RegisterSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{Timeline: s.timeline, TracerProvider: tp}))
				s.providers[i] = tp
				continue
			}
			s.exporters[i], s.recorders[i] = &output{}, &output{}
			c := bridge.TracerProviderConfig{
				Timeline: s.timeline,
				Sampler:  s.sampler(kind, share), Resource: j.merged(res), Limits: limited, IDs: ids{s},
				Exporters: []bridge.Output{s.exporters[i]}, Processors: []sdktrace.SpanProcessor{s.keepers[i]}, WithoutPanicRecording: withoutPanics,
			}
			if j.records {
				c.Recorders = []bridge.Output{s.recorders[i]}
			} else { // programs and exporters do not see what a policy keeps
				c.Keep = &bridge.KeepPolicy{Share: 0.5}
			}
			s.providers[i] = bridge.NewTracerProvider(c)
		}
		for i := range 3 {
			s.optional = append(s.optional, &processor{s: s, name: fmt.Sprint("optional ", i)})
		}
		s.contexts = []context.Context{s.base, nil}
		s.tracers = []trace.Tracer{s.providers[0].Tracer("shop"), s.providers[1].Tracer("payment")}
	}
	j.ours.foreign = sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(ids{j.ours}))
	j.sdk.foreign = bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}), IDs: ids{j.sdk}, Processors: []sdktrace.SpanProcessor{&hook{}},
	})
	return j
}

// merged returns the resource that the SDK's provider makes of res.
func (j *judge) merged(res *resource.Resource) *resource.Resource {
	all, err := resource.Merge(resource.Environment(), res)
	if err != nil {
		j.t.Fatal(err)
	}
	return all
}

func (j *judge) sides() [2]*side { return [2]*side{j.ours, j.sdk} }

func (j *judge) limits() *sdktrace.SpanLimits {
	if j.Below(4) == 0 {
		return nil
	}
	l := sdktrace.NewSpanLimits()
	for _, field := range []*int{
		&l.AttributeValueLengthLimit, &l.AttributeCountLimit, &l.EventCountLimit, &l.LinkCountLimit,
		&l.AttributePerEventCountLimit, &l.AttributePerLinkCountLimit, &l.AttributeValueDepthLimit,
	} {
		switch j.Below(4) {
		case 0:
			*field = j.Below(8)
		case 1:
			*field = -1 - j.Below(2)
		case 2:
			*field = j.Below(48)
		default:
		}
	}
	return &l
}

func (s *side) sampler(kind int, share float64) sdktrace.Sampler {
	switch kind {
	case 0:
		return sdktrace.AlwaysSample()
	case 1:
		return sdktrace.ParentBased(sdktrace.AlwaysSample())
	case 2:
		return sdktrace.ParentBased(sampler{s}, sdktrace.WithRemoteParentSampled(sdktrace.TraceIDRatioBased(.5)), sdktrace.WithLocalParentNotSampled(sampler{s}))
	case 3:
		return sdktrace.TraceIDRatioBased(share)
	case 4:
		return sdktrace.AlwaysRecord(sdktrace.TraceIDRatioBased(.5))
	case 5:
		return sdktrace.ParentBased(sdktrace.NeverSample(), sdktrace.WithRemoteParentNotSampled(sdktrace.AlwaysRecord(sampler{s})))
	default:
		return sampler{s}
	}
}

func (j *judge) fatalf(format string, args ...any) {
	j.t.Helper()
	j.t.Fatalf("%s\nafter %d operations:\n  %s", fmt.Sprintf(format, args...), len(j.history), strings.Join(j.history[max(0, len(j.history)-40):], "\n  "))
}

// compare compares everything that is cheap to compare.
func (j *judge) compare() {
	j.t.Helper()
	for i := range max(len(j.ours.calls), len(j.sdk.calls)) {
		a, b := "nothing", "nothing"
		if i < len(j.ours.calls) {
			a = j.ours.calls[i]
		}
		if i < len(j.sdk.calls) {
			b = j.sdk.calls[i]
		}
		if a != b {
			short, other := firstDifference(a, b)
			j.fatalf("call %d is\n%s\nwant\n%s\n\nit begins with\n%.100s", i, short, other, a)
		}
	}
	j.ours.calls, j.sdk.calls = j.ours.calls[:0], j.sdk.calls[:0]
	for i := range j.ours.spans {
		a, b := j.ours.spans[i], j.sdk.spans[i]
		if x, y := a.SpanContext(), b.SpanContext(); !x.Equal(y) {
			j.fatalf("span %d has the context\n%s\nwant\n%s", i, contextText(x), contextText(y))
		}
		if x, y := a.IsRecording(), b.IsRecording(); x != y {
			j.fatalf("span %d is recording: %t, want %t", i, x, y)
		}
	}
}

// read compares a span by its methods.
func (j *judge) read(i int) {
	j.t.Helper()
	a, isRead := j.ours.spans[i].(sdktrace.ReadWriteSpan)
	b, want := j.sdk.spans[i].(sdktrace.ReadWriteSpan)
	if isRead != want && (j.records || want) { // a span that may be kept can be read, whatever the sampler said
		j.fatalf("span %d can be read: %t, want %t", i, isRead, want)
	}
	if !want {
		return
	}
	if a, b := spanText(a), spanText(b); a != b {
		short, other := firstDifference(a, b)
		j.fatalf("span %d has\n%s\nwant\n%s", i, short, other)
	}
}

// compareAll compares the spans once more, and what left the providers.
func (j *judge) compareAll() {
	j.t.Helper()
	for i := range j.ours.spans {
		j.read(i)
	}
	for i := range providers {
		j.flush(i)
	}
	for _, l := range j.ours.lent {
		if now := attributesText(l.attrs); now != l.text {
			j.fatalf("the provider changed attributes of the program:\n%s\nwere\n%s", now, l.text)
		}
	}
	for _, p := range append(j.ours.keepers[:], j.ours.optional...) {
		for i, s := range p.spans {
			if now := spanText(s); now != p.texts[i] {
				now, then := firstDifference(now, p.texts[i])
				j.fatalf("a span that has ended changed: it has\n%s\nand had\n%s", now, then)
			}
		}
	}
	for i, p := range j.sdk.keepers {
		var sampled []sdktrace.ReadOnlySpan
		for _, s := range p.spans {
			if s.SpanContext().IsSampled() {
				sampled = append(sampled, s)
			}
		}
		j.compareRequests("exported", j.ours.exporters[i].taken(), sampled)
		if j.records {
			j.compareRequests("recorded", j.ours.recorders[i].taken(), p.spans)
		}
	}
	for _, s := range j.sides() {
		for _, p := range s.providers {
			_ = p.Shutdown(context.Background()) // with the errors of the plan
		}
	}
}

// flush flushes a provider. Everything that has ended has left it then.
func (j *judge) flush(i int) {
	j.t.Helper()
	for _, s := range j.sides() {
		s.note("flushed: %v", s.providers[i].ForceFlush(context.Background()))
	}
	j.compare()
	sampled := 0
	for _, span := range j.sdk.keepers[i].spans {
		if span.SpanContext().IsSampled() {
			sampled++
		}
	}
	if got := j.ours.exporters[i].count; got != sampled {
		j.fatalf("%d spans are exported after a flush, want %d", got, sampled)
	}
	if got, want := j.ours.recorders[i].count, len(j.sdk.keepers[i].spans); j.records && got != want {
		j.fatalf("%d spans are recorded after a flush, want %d", got, want)
	}
}

func (j *judge) compareRequests(what string, all []bridge.Spans, spans []sdktrace.ReadOnlySpan) {
	j.t.Helper()
	got := &tracepb.TracesData{}
	if err := proto.Unmarshal(otlpenc.AppendRequest(nil, inside(all)), got); err != nil {
		j.fatalf("the request of %s spans: %v", what, err)
	}
	want := spanfuzz.BySDK(j.t, spans)
	hideStacks(got.ProtoReflect())
	hideStacks(want.ProtoReflect())
	g, w := spanfuzz.Flat(j.t, got), spanfuzz.Flat(j.t, want)
	if len(g) != len(w) {
		j.fatalf("%d spans are %s, want %d", len(g), what, len(w))
	}
	for i := range g {
		if !proto.Equal(g[i], w[i]) {
			got, want := firstDifference(g[i].String(), w[i].String())
			j.fatalf("%s:\n%s\nwant\n%s", what, got, want)
		}
	}
}

func hideStacks(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for i := range v.List().Len() {
				hideStacks(v.List().Get(i).Message())
			}
		case f.Kind() == protoreflect.MessageKind:
			hideStacks(v.Message())
		case f.Kind() == protoreflect.StringKind && !f.IsList():
			if s := withoutStack(v.String()); s != v.String() {
				m.Set(f, protoreflect.ValueOfString(s))
			}
		}
		return true
	})
}

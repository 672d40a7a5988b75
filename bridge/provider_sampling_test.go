package bridge_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// The sampler is asked about each span, with everything that Start was given.
func TestProviderSamplerParameters(t *testing.T) {
	type key struct{}
	parent := spanContext(true, true)
	attrs := []attribute.KeyValue{attribute.Int("a", 1), {}, attribute.Int("a", 2)}
	links := []trace.Link{{SpanContext: spanContext(true, false)}, {}}
	for _, newRoot := range []bool{false, true} {
		overBoth(t, func(t *testing.T, start newProvider) {
			var got []sdktrace.SamplingParameters
			sampler := samplerFunc(func(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
				p.Attributes, p.Links = slices.Clone(p.Attributes), slices.Clone(p.Links)
				got = append(got, p)
				return sdktrace.SamplingResult{}
			})
			options := []trace.SpanStartOption{trace.WithAttributes(attrs...), trace.WithLinks(links...), trace.WithSpanKind(1000)}
			want := trace.SpanContextFromContext(trace.ContextWithRemoteSpanContext(t.Context(), parent))
			if newRoot {
				options = append(options, trace.WithNewRoot())
				want = trace.SpanContext{}
			}
			ctx := context.WithValue(trace.ContextWithRemoteSpanContext(t.Context(), parent), key{}, "kept")
			_, s := start(t, providerConfig{sampler: sampler}).Tracer("test").Start(ctx, "name", options...)
			if len(got) != 1 {
				t.Fatalf("the sampler was asked %d times", len(got))
			}
			p := got[0]
			if sc := trace.SpanContextFromContext(p.ParentContext); !sc.Equal(want) || p.ParentContext.Value(key{}) != "kept" {
				t.Errorf("parent is %v, want %v", sc, want)
			}
			if p.TraceID != s.SpanContext().TraceID() || p.Name != "name" || p.Kind != 1000 || !slices.Equal(p.Attributes, attrs) || len(p.Links) != len(links) {
				t.Errorf("the sampler got %+v", p)
			}
		})
	}
}

// Each decision makes a span of its kind: the sampled flag says whether it is exported, not whether it is recorded.
func TestProviderDecisions(t *testing.T) {
	type decision struct {
		decision            sdktrace.SamplingDecision
		recording, sampled  bool
		flags, wantWithFlag trace.TraceFlags
	}
	cases := []decision{
		{sdktrace.Drop, false, false, 0, 0},
		{sdktrace.Drop, false, false, 0xff, 0xfe},
		{sdktrace.RecordOnly, true, false, 0, 0},
		{sdktrace.RecordOnly, true, false, 0xff, 0xfe},
		{sdktrace.RecordAndSample, true, true, 0, 1},
		{sdktrace.RecordAndSample, true, true, 0xfe, 0xff},
		{3, false, false, 0xff, 0xfe}, // not a decision
	}
	overBothOf(t, cases, func(c decision) string { return fmt.Sprintf("%d of flags %d", c.decision, c.flags) }, func(t *testing.T, start newProvider, c decision) {
		exported := &exportedSpans{}
		p, tracer, got := recorded(t, start, providerConfig{sampler: fixed{Decision: c.decision}, exporter: exported})
		ctx := trace.ContextWithSpanContext(t.Context(), spanContext(false, false).WithTraceFlags(c.flags))
		ctx, s := tracer.Start(ctx, "span")
		if s.IsRecording() != c.recording || s.SpanContext().IsSampled() != c.sampled || s.SpanContext().TraceFlags() != c.wantWithFlag {
			t.Errorf("records: %v, flags: %v; want %v, %v", s.IsRecording(), s.SpanContext().TraceFlags(), c.recording, c.wantWithFlag)
		}
		if _, ok := s.(sdktrace.ReadOnlySpan); ok != c.recording {
			t.Errorf("the span is an sdktrace.ReadOnlySpan: %v, want %v", ok, c.recording)
		}
		if in := trace.SpanFromContext(ctx); !in.SpanContext().Equal(s.SpanContext()) || in.TracerProvider() != trace.TracerProvider(p) {
			t.Error("the context lacks the span, or the span has another provider")
		}
		s.SetName("renamed")
		s.AddLink(trace.Link{SpanContext: spanContext(true, true)})
		s.End()
		want := 0
		if c.recording {
			want = 1
		}
		if n := len(got.all()); n != want {
			t.Errorf("the processor received %d spans, want %d", n, want)
		}
		if names := exported.names(); names != "" && !c.sampled {
			t.Errorf("exported %s", names)
		}
	})
}

// A sampler's attributes come before the caller's. The caller's value counts, at the sampler's place.
func TestProviderSamplerAttributes(t *testing.T) {
	attr := attribute.Int
	type attributes struct {
		name                  string
		sampler, caller, want []attribute.KeyValue
		dropped               int
	}
	cases := []attributes{
		{name: "none"},
		{name: "sampler's", sampler: []attribute.KeyValue{attr("s", 1)}, want: []attribute.KeyValue{attr("s", 1)}},
		{name: "both", sampler: []attribute.KeyValue{attr("s", 1)}, caller: []attribute.KeyValue{attr("c", 2)}, want: []attribute.KeyValue{attr("s", 1), attr("c", 2)}},
		{name: "same key", sampler: []attribute.KeyValue{attr("s", 1), attr("k", 1)}, caller: []attribute.KeyValue{attr("c", 2), attr("s", 2)},
			want: []attribute.KeyValue{attr("s", 2), attr("k", 1), attr("c", 2)}},
		{name: "over the limit", sampler: []attribute.KeyValue{attr("a", 1), attr("b", 1), attr("c", 1), attr("d", 1)}, caller: []attribute.KeyValue{attr("a", 2), attr("e", 2)},
			want: []attribute.KeyValue{attr("a", 2), attr("b", 1), attr("c", 1)}, dropped: 2},
	}
	overBothOf(t, cases, func(c attributes) string { return c.name }, func(t *testing.T, start newProvider, c attributes) {
		_, tracer, got := recorded(t, start, providerConfig{
			sampler: fixed{Decision: sdktrace.RecordAndSample, Attributes: c.sampler},
			limits:  limits(func(l *sdktrace.SpanLimits) { l.AttributeCountLimit = 3 }),
		})
		before := slices.Clone(c.sampler)
		_, s := tracer.Start(t.Context(), "span", trace.WithAttributes(c.caller...))
		s.End()
		if s := got.one(t, "span"); !slices.Equal(s.Attributes(), c.want) || s.DroppedAttributes() != c.dropped {
			t.Errorf("attributes are %s and %d dropped, want %s and %d", text(s.Attributes()), s.DroppedAttributes(), text(c.want), c.dropped)
		}
		if !slices.Equal(c.sampler, before) {
			t.Errorf("the sampler's own attributes became %s", text(c.sampler))
		}
	})
}

// A span has the trace state that the sampler returns, sampled or not.
func TestProviderTraceState(t *testing.T) {
	in := traceState(t, "a=1,b=2")
	added, err := in.Insert("c", "3")
	if err != nil {
		t.Fatal(err)
	}
	type state struct {
		name    string
		sampler sdktrace.Sampler
		want    trace.TraceState
	}
	cases := []state{
		{"always on", sdktrace.AlwaysSample(), in},
		{"always off", sdktrace.NeverSample(), in},
		{"ratio", sdktrace.TraceIDRatioBased(0.5), in},
		{"ratio 0", sdktrace.TraceIDRatioBased(0), in},
		{"by parent", sdktrace.ParentBased(sdktrace.NeverSample()), in},
		{"always record", sdktrace.AlwaysRecord(sdktrace.NeverSample()), in},
	}
	for _, d := range []sdktrace.SamplingDecision{sdktrace.Drop, sdktrace.RecordOnly, sdktrace.RecordAndSample} {
		cases = append(cases,
			state{fmt.Sprint("inserted ", d), fixed{Decision: d, Tracestate: added}, added},
			state{fmt.Sprint("deleted ", d), fixed{Decision: d, Tracestate: in.Delete("a")}, in.Delete("a")},
			state{fmt.Sprint("cleared ", d), fixed{Decision: d}, trace.TraceState{}})
	}
	overBothOf(t, cases, func(c state) string { return c.name }, func(t *testing.T, start newProvider, c state) {
		ctx := trace.ContextWithRemoteSpanContext(t.Context(), spanContext(true, true).WithTraceState(in))
		_, s := start(t, providerConfig{sampler: c.sampler}).Tracer("test").Start(ctx, "span")
		if got := s.SpanContext().TraceState().String(); got != c.want.String() {
			t.Errorf("trace state is %q, want %q", got, c.want.String())
		}
		if s, ok := s.(sdktrace.ReadOnlySpan); ok && s.Parent().TraceState().String() != in.String() {
			t.Errorf("the parent's trace state is %q, want %q", s.Parent().TraceState(), in)
		}
	})
}

// ParentBased decides by the parent: none, local or remote, sampled or not. NewRoot means none.
func TestProviderParentBased(t *testing.T) {
	on, off := sdktrace.AlwaysSample(), sdktrace.NeverSample()
	samplers := map[string]struct {
		sampler sdktrace.Sampler
		want    map[string]bool
	}{
		"root on": {sdktrace.ParentBased(on), map[string]bool{
			"none": true, "local sampled": true, "local": false, "remote sampled": true, "remote": false, "new root": true}},
		"root off": {sdktrace.ParentBased(off), map[string]bool{
			"none": false, "local sampled": true, "local": false, "remote sampled": true, "remote": false, "new root": false}},
		"all other ones": {
			sdktrace.ParentBased(off, sdktrace.WithLocalParentSampled(off), sdktrace.WithLocalParentNotSampled(on),
				sdktrace.WithRemoteParentSampled(off), sdktrace.WithRemoteParentNotSampled(on)),
			map[string]bool{"none": false, "local sampled": false, "local": true, "remote sampled": false, "remote": true, "new root": false}},
	}
	overBoth(t, func(t *testing.T, start newProvider) {
		for name, c := range samplers {
			tracer := start(t, providerConfig{sampler: c.sampler}).Tracer("test")
			parents := map[string]context.Context{
				"none": t.Context(), "new root": trace.ContextWithSpanContext(t.Context(), spanContext(true, false)),
				"local": trace.ContextWithSpanContext(t.Context(), spanContext(false, false)), "local sampled": trace.ContextWithSpanContext(t.Context(), spanContext(true, false)),
				"remote": trace.ContextWithRemoteSpanContext(t.Context(), spanContext(false, true)), "remote sampled": trace.ContextWithRemoteSpanContext(t.Context(), spanContext(true, true)),
			}
			for parent, want := range c.want {
				var options []trace.SpanStartOption
				if parent == "new root" {
					options = append(options, trace.WithNewRoot())
				}
				if _, s := tracer.Start(parents[parent], "span", options...); s.SpanContext().IsSampled() != want {
					t.Errorf("%s, parent %s: sampled %v, want %v", name, parent, !want, want)
				}
			}
		}
	})
}

// A child follows the decision about its parent, also over several levels and over a dropped span.
func TestProviderParentBasedChildren(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		for _, want := range []bool{true, false} {
			root := sdktrace.NeverSample()
			if want {
				root = sdktrace.AlwaysSample()
			}
			tracer := start(t, providerConfig{sampler: sdktrace.ParentBased(root)}).Tracer("test")
			ctx, s := tracer.Start(t.Context(), "root")
			id := s.SpanContext().TraceID()
			for range 3 {
				parent := s.SpanContext()
				if ctx, s = tracer.Start(ctx, "child"); s.SpanContext().IsSampled() != want || s.SpanContext().TraceID() != id || s.SpanContext().SpanID() == parent.SpanID() {
					t.Errorf("child of %v is %v", parent, s.SpanContext())
				}
			}
		}
	})
}

// A ratio decides by the trace id alone: both providers sample the same traces, and a higher ratio samples no fewer.
func TestProviderRatio(t *testing.T) {
	const traces = 200
	sampled := func(t *testing.T, start newProvider, ratio float64) (got [traces]bool, n int) {
		tracer := start(t, providerConfig{sampler: sdktrace.TraceIDRatioBased(ratio)}).Tracer("test")
		for i := range got {
			sc := spanContext(i%2 == 0, true).WithTraceID(trace.TraceID{0: 1, 8: byte(i * 37), 9: byte(i)})
			if _, s := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), sc), "span"); s.SpanContext().IsSampled() {
				got[i] = true
				n++
			}
		}
		return got, n
	}
	least := 0
	for _, ratio := range []float64{-1, 0, 0.1, 0.5, 0.9, 1, 2} {
		ours, n := sampled(t, newPerfline, ratio)
		if theirs, _ := sampled(t, newSDK, ratio); ours != theirs {
			t.Errorf("ratio %v samples other traces than the SDK", ratio)
		}
		if n < least || ratio <= 0 && n != 0 || ratio >= 1 && n != traces {
			t.Errorf("ratio %v samples %d of %d traces", ratio, n, traces)
		}
		least = n
	}
}

// The variables choose the sampler, and wrong ones count as unset.
func TestProviderSamplerVariables(t *testing.T) {
	handledErrors()                                             // the SDK's, about variables
	low, high := trace.TraceID{8: 0x10}, trace.TraceID{8: 0xf0} // traces that a ratio of 0.5 samples, and does not
	type variables struct {
		sampler, arg string
		want         string // of roots with the low and the high id, and children of a sampled and of another parent
	}
	cases := []variables{
		{"", "", "1110"}, {"", "0", "1110"}, {"wrong", "", "1110"}, {"wrong", "0", "1110"}, {"parentbased_", "", "1110"}, {"parentbased_parentbased_always_off", "", "1110"},
		{"always_on", "", "1111"}, {"always_on", "wrong", "1111"}, {" ALWAYS_on ", "", "1111"},
		{"always_off", "", "0000"}, {"always_off", "1", "0000"},
		{"traceidratio", "", "1111"}, {"traceidratio", " 0.5 ", "1010"}, {"traceidratio", "0", "0000"}, {"traceidratio", "1", "1111"},
		{"traceidratio", "-0.5", "1111"}, {"traceidratio", "1.5", "1111"}, {"traceidratio", "wrong", "1111"}, {"traceidratio", "+Inf", "1111"},
		{"parentbased_always_on", "", "1110"}, {"parentbased_always_off", "", "0010"}, {"PARENTBASED_Always_Off", "wrong", "0010"},
		{"parentbased_traceidratio", "", "1110"}, {"parentbased_traceidratio", "0.5", "1010"}, {"parentbased_traceidratio", "0", "0010"},
		{"parentbased_traceidratio", "-0.5", "1110"}, {"parentbased_traceidratio", "2", "1110"}, {"parentbased_traceidratio", "wrong", "1110"},
		{"jaeger_remote", "", "1110"}, {"parentbased_jaeger_remote", "", "1110"}, {"xray", "", "1110"},
	}
	overBothOf(t, cases, func(c variables) string { return c.sampler + " " + c.arg }, func(t *testing.T, start newProvider, c variables) {
		t.Setenv("OTEL_TRACES_SAMPLER", c.sampler)
		t.Setenv("OTEL_TRACES_SAMPLER_ARG", c.arg)
		decisions := func(p anyProvider) string {
			under := func(sc trace.SpanContext) string { return sampled(p, trace.ContextWithSpanContext(t.Context(), sc)) }
			return under(spanContext(true, true).WithTraceID(low)) + under(spanContext(false, true).WithTraceID(high))
		}
		root := func(id trace.TraceID) string { return sampled(start(t, providerConfig{ids: oneID(id)}), t.Context()) }
		if got := root(low) + root(high) + decisions(start(t, providerConfig{})); got != c.want {
			t.Errorf("sampled %s, want %s", got, c.want)
		}
		if got := decisions(start(t, providerConfig{sampler: sdktrace.NeverSample()})); got != "00" {
			t.Errorf("a sampler in the configuration samples %s, want 00", got)
		}
	})
}

// sampled returns "1" if the provider samples a span, and "0" otherwise.
func sampled(p anyProvider, ctx context.Context) string {
	if _, s := p.Tracer("test").Start(ctx, "span"); s.SpanContext().IsSampled() {
		return "1"
	}
	return "0"
}

// oneID is a generator whose trace id is always the same.
type oneID trace.TraceID

func (id oneID) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	return trace.TraceID(id), trace.SpanID{7: 1}
}

func (oneID) NewSpanID(context.Context, trace.TraceID) trace.SpanID { return trace.SpanID{7: 2} }

package serving_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge/internal/serving"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// A propagator is the program's own. It reads a header that it does not name among its fields, and notes that it runs.
type propagator struct {
	name   string
	fields []string
	runs   *[]string
}

func (p propagator) Inject(context.Context, propagation.TextMapCarrier) {}
func (p propagator) Fields() []string                                   { return p.fields }
func (p propagator) Extract(ctx context.Context, c propagation.TextMapCarrier) context.Context {
	*p.runs = append(*p.runs, p.name)
	member, err := baggage.NewMember(p.name, c.Get("x-own"))
	if err != nil {
		return ctx
	}
	all, err := baggage.FromContext(ctx).SetMember(member)
	if err != nil {
		return ctx
	}
	return baggage.ContextWithBaggage(ctx, all)
}

// An Extractor finds what the propagator finds, for each header. Propagators of the program's run for each request.
func TestExtractor(t *testing.T) {
	var runs []string
	own := func(name string, fields ...string) propagator { return propagator{name, fields, &runs} }
	both := propagation.NewCompositeTextMapPropagator
	w3c := both(propagation.TraceContext{}, propagation.Baggage{})
	for _, p := range []struct {
		name       string
		propagator propagation.TextMapPropagator
		runs       string // of the program's propagators
	}{
		{"none", both(), ""},
		{"trace context", propagation.TraceContext{}, ""},
		{"baggage", propagation.Baggage{}, ""},
		{"the W3C's", w3c, ""},
		{"a pointer", &propagation.TraceContext{}, ""},
		{"the program's", own("a", "x-field"), "a"},
		{"without fields", own("a"), "a"},
		{"among the W3C's", both(own("a"), propagation.TraceContext{}, own("b", "traceparent"), propagation.Baggage{}, own("c")), "a b c"},
		{"within", both(w3c, both(own("a"), both(own("b")))), "a b"},
	} {
		for _, header := range []http.Header{
			{},
			{"Traceparent": {parent}},
			{"Traceparent": {parent}, "Tracestate": {"a=b"}},
			{"Tracestate": {"a=b"}},
			{"Traceparent": {""}},
			{"Traceparent": {}},
			{"Baggage": {"k=v"}},
			{"Baggage": {"k=v", "l=w"}, "Traceparent": {parent}},
			{"X-Own": {"x"}},
			{"X-Own": {"x"}, "Baggage": {"a=first"}},
		} {
			c := propagation.HeaderCarrier(header)
			want := p.propagator.Extract(t.Context(), c)
			runs = nil
			e := serving.NewExtractor(p.propagator)
			got := e.Extract(t.Context(), c)
			if !trace.SpanContextFromContext(got).Equal(trace.SpanContextFromContext(want)) {
				t.Errorf("%s of %v: the caller is %v, want %v", p.name, header, trace.SpanContextFromContext(got), trace.SpanContextFromContext(want))
			}
			if members(got) != members(want) {
				t.Errorf("%s of %v: the baggage is %s, want %s", p.name, header, members(got), members(want))
			}
			if got := strings.Join(runs, " "); got != p.runs {
				t.Errorf("%s of %v: %q run, want %q", p.name, header, got, p.runs)
			}
			if got != t.Context() && !e.Has(c) {
				t.Errorf("%s of %v: Has is false, and there is something", p.name, header)
			}
		}
	}
}

func members(ctx context.Context) string {
	var all []string
	for _, m := range baggage.FromContext(ctx).Members() {
		all = append(all, m.String())
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// No propagator may find something in a request without headers, unless a propagator is not known.
func TestExtractorHas(t *testing.T) {
	for _, c := range []struct {
		name       string
		propagator propagation.TextMapPropagator
		header     http.Header
		want       bool
	}{
		{"none", propagation.NewCompositeTextMapPropagator(), http.Header{"Traceparent": {parent}}, false},
		{"no header", propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}), http.Header{"Accept": {"*/*"}}, false},
		{"a state without a parent", propagation.TraceContext{}, http.Header{"Tracestate": {"a=b"}}, false},
		{"another's header", propagation.TraceContext{}, http.Header{"Baggage": {"k=v"}}, false},
		{"its header", propagation.Baggage{}, http.Header{"Baggage": {"k=v"}}, true},
		{"the program's", propagator{}, http.Header{}, true},
		{"nil", propagation.NewCompositeTextMapPropagator(nil), http.Header{}, true}, // and Extract panics, as the propagator does
		{"OpenTelemetry's global one before it is set", otel.GetTextMapPropagator(), http.Header{}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := serving.NewExtractor(c.propagator)
			if got := e.Has(propagation.HeaderCarrier(c.header)); got != c.want {
				t.Errorf("Has is %v", got)
			}
		})
	}
}

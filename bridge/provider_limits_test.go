package bridge_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/garbage"
)

// eventList writes events as "name[attributes]-dropped".
func eventList(s sdktrace.ReadOnlySpan) string {
	var all []string
	for _, e := range s.Events() {
		all = append(all, fmt.Sprintf("%s[%s]-%d", e.Name, unpaired(e.Attributes), e.DroppedAttributeCount))
	}
	return strings.Join(all, " ")
}

// linkList writes links as "span id[attributes]-dropped".
func linkList(s sdktrace.ReadOnlySpan) string {
	var all []string
	for _, l := range s.Links() {
		all = append(all, fmt.Sprintf("%d[%s]-%d", l.SpanContext.SpanID()[7], unpaired(l.Attributes), l.DroppedAttributeCount))
	}
	return strings.Join(all, " ")
}

// linkTo returns a link whose span id ends with n.
func linkTo(n byte, attrs ...attribute.KeyValue) trace.Link {
	return trace.Link{SpanContext: spanContext(true, true).WithSpanID(trace.SpanID{0: 1, 7: n}), Attributes: attrs}
}

// A span keeps the latest events and links, in order, and counts the others. Their attributes are the first ones, with
// keys that may come twice and attributes that are not valid.
func TestProviderEventsAndLinks(t *testing.T) {
	type eventsAndLinks struct {
		name              string
		count, attributes int
		events            []string // the attributes of each
		wantEvents        string
		wantLinks         string
		wantDropped       int
	}
	cases := []eventsAndLinks{
		{name: "none", count: 2, attributes: 2},
		{name: "below the limit", count: 3, attributes: 2, events: []string{"", "a=1"}, wantEvents: "e0[]-0 e1[a=1]-0", wantLinks: "0[]-0 1[a=1]-0"},
		{name: "at the limit", count: 2, attributes: 2, events: []string{"", "a=1"}, wantEvents: "e0[]-0 e1[a=1]-0", wantLinks: "0[]-0 1[a=1]-0"},
		{name: "one over", count: 2, attributes: 2, events: []string{"", "a=1", "b=2"}, wantEvents: "e1[a=1]-0 e2[b=2]-0", wantLinks: "1[a=1]-0 2[b=2]-0", wantDropped: 1},
		{name: "twice around", count: 2, attributes: 2, events: []string{"", "", "", "", "x=1"}, wantEvents: "e3[]-0 e4[x=1]-0", wantLinks: "3[]-0 4[x=1]-0", wantDropped: 3},
		{name: "limit of one", count: 1, attributes: 2, events: []string{"a=1", "b=2"}, wantEvents: "e1[b=2]-0", wantLinks: "1[b=2]-0", wantDropped: 1},
		{name: "no limit", count: -1, attributes: -1, events: []string{"a=1 b=2 c=3", ""}, wantEvents: "e0[a=1 b=2 c=3]-0 e1[]-0", wantLinks: "0[a=1 b=2 c=3]-0 1[]-0"},
		{name: "attributes over the limit", count: 2, attributes: 2, events: []string{"a=1 b=2 c=3 d=4"}, wantEvents: "e0[a=1 b=2]-2", wantLinks: "0[a=1 b=2]-2"},
		{name: "attributes at the limit", count: 2, attributes: 2, events: []string{"a=1 b=2"}, wantEvents: "e0[a=1 b=2]-0", wantLinks: "0[a=1 b=2]-0"},
		{name: "no attributes allowed", count: 2, attributes: 0, events: []string{"a=1 b=2", ""}, wantEvents: "e0[]-2 e1[]-0", wantLinks: "0[]-2 1[]-0"},
		{name: "a key twice", count: 2, attributes: 3, events: []string{"a=1 a=2 b=3 a=4"}, wantEvents: "e0[a=1 a=2 b=3]-1", wantLinks: "0[a=1 a=2 b=3]-1"},
		{name: "not valid", count: 2, attributes: 2, events: []string{"- a=1 -"}, wantEvents: "e0[= a=1]-1", wantLinks: "0[= a=1]-1"},
	}
	overBothOf(t, cases, func(c eventsAndLinks) string { return c.name }, func(t *testing.T, start newProvider, c eventsAndLinks) {
		for _, atStart := range []bool{true, false} {
			_, tracer, got := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) {
				l.EventCountLimit, l.LinkCountLimit, l.AttributePerEventCountLimit, l.AttributePerLinkCountLimit = c.count, c.count, c.attributes, c.attributes
			})})
			var links []trace.Link
			for i, attrs := range c.events {
				links = append(links, linkTo(byte(i), pairs(attrs)...))
			}
			var options []trace.SpanStartOption
			if atStart {
				options = append(options, trace.WithLinks(links...))
			}
			_, s := tracer.Start(t.Context(), "span", options...)
			for i, attrs := range c.events {
				s.AddEvent(fmt.Sprint("e", i), trace.WithAttributes(pairs(attrs)...))
				if !atStart {
					s.AddLink(links[i])
				}
			}
			open := s.(sdktrace.ReadOnlySpan)
			openText := eventList(open) + linkList(open)
			s.End()
			for _, ended := range []sdktrace.ReadOnlySpan{open, got.one(t, "span")} {
				if eventList(ended) != c.wantEvents || linkList(ended) != c.wantLinks || ended.DroppedEvents() != c.wantDropped || ended.DroppedLinks() != c.wantDropped {
					t.Errorf("events %s, links %s, dropped %d and %d; want %s, %s, %d", eventList(ended), linkList(ended), ended.DroppedEvents(), ended.DroppedLinks(),
						c.wantEvents, c.wantLinks, c.wantDropped)
				}
			}
			if want := c.wantEvents + c.wantLinks; openText != want {
				t.Errorf("before End: %s, want %s", openText, want)
			}
		}
	})
}

// With a limit of zero, a span keeps neither events nor links.
func TestProviderNoEventsOrLinks(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{limits: &sdktrace.SpanLimits{}})
		_, s := tracer.Start(t.Context(), "span", trace.WithLinks(linkTo(1)), trace.WithAttributes(attribute.Int("a", 1)))
		s.AddEvent("event")
		s.AddLink(linkTo(2))
		if open := s.(sdktrace.ReadOnlySpan); open.DroppedEvents() != 1 || open.DroppedLinks() != 2 || open.DroppedAttributes() != 1 {
			t.Errorf("dropped %d events, %d links, %d attributes; want 1, 2, 1", open.DroppedEvents(), open.DroppedLinks(), open.DroppedAttributes())
		}
		s.End()
		if s := got.one(t, "span"); len(s.Events())+len(s.Links())+len(s.Attributes()) != 0 {
			t.Errorf("kept events %s, links %s, attributes %s", eventList(s), linkList(s), text(s.Attributes()))
		}
	})
}

// A processor receives nil where the span has nothing: exporters that write JSON write null, not [].
func TestProviderNothingIsNil(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) {
			l.AttributeCountLimit, l.AttributePerEventCountLimit, l.AttributePerLinkCountLimit = 0, 0, 0
		})})
		_, s := tracer.Start(t.Context(), "none")
		s.End()
		_, s = tracer.Start(t.Context(), "dropped", trace.WithAttributes(pairs("a=1")...))
		s.AddEvent("event", trace.WithAttributes(pairs("a=1")...))
		s.AddLink(linkTo(1, pairs("a=1")...))
		s.End()
		if s := got.one(t, "none"); s.Attributes() != nil || s.Events() != nil || s.Links() != nil {
			t.Errorf("attributes, events, links are %#v, %#v, %#v, want nil", s.Attributes(), s.Events(), s.Links())
		}
		if s := got.one(t, "dropped"); s.Attributes() != nil || s.Events()[0].Attributes != nil || s.Links()[0].Attributes != nil {
			t.Errorf("attributes are %#v, the event's %#v, the link's %#v, want nil", s.Attributes(), s.Events()[0].Attributes, s.Links()[0].Attributes)
		}
	})
}

// A link that says nothing is left out, and does not count as dropped.
func TestProviderEmptyLinks(t *testing.T) {
	state := traceState(t, "a=1")
	valid := spanContext(true, true)
	type link struct {
		name  string
		link  trace.Link
		stays bool
	}
	cases := []link{
		{"empty", trace.Link{}, false}, {"no span id", trace.Link{SpanContext: valid.WithSpanID(trace.SpanID{})}, false}, {"no trace id", trace.Link{SpanContext: valid.WithTraceID(trace.TraceID{})}, false},
		{"flags only", trace.Link{SpanContext: trace.SpanContext{}.WithTraceFlags(1).WithRemote(true)}, false}, {"valid", trace.Link{SpanContext: valid}, true},
		{"attributes only", trace.Link{Attributes: pairs("a=1")}, true}, {"trace state only", trace.Link{SpanContext: trace.SpanContext{}.WithTraceState(state)}, true},
		{"an attribute that is not valid", trace.Link{Attributes: pairs("-")}, true},
	}
	overBothOf(t, cases, func(c link) string { return c.name }, func(t *testing.T, start newProvider, c link) {
		_, tracer, _ := recorded(t, start, providerConfig{})
		_, s := tracer.Start(t.Context(), "span", trace.WithLinks(c.link))
		s.AddLink(c.link)
		span := s.(sdktrace.ReadOnlySpan)
		want := 0
		if c.stays {
			want = 2
		}
		if n := len(span.Links()); n != want || span.DroppedLinks() != 0 {
			t.Fatalf("%d links and %d dropped, want %d and 0", n, span.DroppedLinks(), want)
		}
		for _, l := range span.Links() {
			if !l.SpanContext.Equal(c.link.SpanContext) {
				t.Errorf("link to %v, want %v", l.SpanContext, c.link.SpanContext)
			}
		}
	})
}

// The variables set the limits unless the configuration does. A negative number means no limit.
func TestProviderLimitVariables(t *testing.T) {
	variables := map[string]string{
		"attributes": "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "length": "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "events": "OTEL_SPAN_EVENT_COUNT_LIMIT",
		"links": "OTEL_SPAN_LINK_COUNT_LIMIT", "event attributes": "OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "link attributes": "OTEL_LINK_ATTRIBUTE_COUNT_LIMIT",
	}
	general := map[string]string{"attributes": "OTEL_ATTRIBUTE_COUNT_LIMIT", "length": "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT"}
	const many = 130 // more than each default
	measure := func(t *testing.T, p anyProvider) map[string]int {
		var attrs []attribute.KeyValue
		for i := range many {
			attrs = append(attrs, attribute.String(fmt.Sprint("k", i), strings.Repeat("x", many)))
		}
		_, s := p.Tracer("test").Start(t.Context(), "span")
		for range many {
			s.AddEvent("event", trace.WithAttributes(attrs...))
			s.AddLink(linkTo(1, attrs...))
		}
		s.SetAttributes(attrs...)
		span := s.(sdktrace.ReadOnlySpan)
		got := map[string]int{"attributes": len(span.Attributes()), "events": len(span.Events()), "links": len(span.Links())}
		if len(span.Attributes()) > 0 {
			got["length"] = len(span.Attributes()[0].Value.AsString())
		}
		if len(span.Events()) > 0 {
			got["event attributes"] = len(span.Events()[0].Attributes)
		}
		if len(span.Links()) > 0 {
			got["link attributes"] = len(span.Links()[0].Attributes)
		}
		return got
	}
	defaults := map[string]int{"attributes": 128, "length": many, "events": 128, "links": 128, "event attributes": 128, "link attributes": 128}
	values := map[string]int{"": -2, "7": 7, "+7": 7, "07": 7, "0": 0, "-1": -1, "-7": -1, "7.5": -2, "x": -2, "99999999999999999999": -2} // -2: the default; -1: no limit for the SDK
	overBoth(t, func(t *testing.T, start newProvider) {
		for name, variable := range variables {
			for value, want := range values {
				t.Setenv(variable, value)
				p := start(t, providerConfig{})
				if _, sdk := p.(*sdktrace.TracerProvider); want == -1 && sdk {
					want = many
				} else if want < 0 {
					want = defaults[name]
				}
				if got := measure(t, p); got[name] != want {
					t.Errorf("%s=%q: %d %s, want %d", variable, value, got[name], name, want)
				}
			}
			t.Setenv(variable, "7")
			if got := measure(t, start(t, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) {
				l.AttributeCountLimit, l.AttributeValueLengthLimit, l.EventCountLimit, l.LinkCountLimit, l.AttributePerEventCountLimit, l.AttributePerLinkCountLimit = 5, 5, 5, 5, 5, 5
			})})); got[name] != 5 {
				t.Errorf("%s=7: %d %s, want 5, the configuration's", variable, got[name], name)
			}
			t.Setenv(variable, "")
			if general[name] == "" {
				continue
			}
			t.Setenv(general[name], "9")
			if got := measure(t, start(t, providerConfig{})); got[name] != 9 {
				t.Errorf("%s=9: %d %s, want 9", general[name], got[name], name)
			}
			t.Setenv(variable, "7")
			if got := measure(t, start(t, providerConfig{})); got[name] != 7 {
				t.Errorf("%s=9 and %s=7: %d %s, want 7", general[name], variable, got[name], name)
			}
			t.Setenv(variable, "")
			t.Setenv(general[name], "")
		}
	})
}

// An open span retains no more than its limits allow, whatever is added to it.
func TestProviderMemoryOfLimits(t *testing.T) {
	for name, fill := range fillings() {
		for _, zero := range []bool{false, true} {
			const added = 3000
			most := 2 * 128
			if zero {
				most = 0
			}
			tracer := newPerfline(t, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) {
				if zero {
					*l = sdktrace.SpanLimits{}
				}
			})}).Tracer("test")
			var texts garbage.Objects
			s := fill(t.Context(), tracer, added, func(i int) string {
				text := fmt.Sprintf("text %d %0100d", i, i)
				garbage.WatchText(&texts, fmt.Sprintf("text of %s with limits of zero: %t", name, zero), text)
				return text
			})
			texts.WaitFor(t, most)
			s.End()
		}
	}
}

// fillings are ways to add to a span. Each takes a new text for each addition.
func fillings() map[string]func(ctx context.Context, tracer trace.Tracer, n int, text func(int) string) trace.Span {
	many := func(n int, text func(int) string) (attrs []attribute.KeyValue) {
		for i := range n {
			attrs = append(attrs, attribute.Int(text(i), i))
		}
		return attrs
	}
	type texts = func(int) string
	return map[string]func(context.Context, trace.Tracer, int, texts) trace.Span{
		"events": func(ctx context.Context, tracer trace.Tracer, n int, text texts) trace.Span {
			_, s := tracer.Start(ctx, "span")
			for i := range n {
				s.AddEvent("event", trace.WithAttributes(attribute.String("text", text(i))))
			}
			return s
		},
		"attributes": func(ctx context.Context, tracer trace.Tracer, n int, text texts) trace.Span {
			_, s := tracer.Start(ctx, "span")
			for i := range n {
				s.SetAttributes(attribute.Int(text(i), i))
			}
			return s
		},
		"attributes at Start": func(ctx context.Context, tracer trace.Tracer, n int, text texts) trace.Span {
			_, s := tracer.Start(ctx, "span", trace.WithAttributes(many(n, text)...))
			return s
		},
		"one attribute": func(ctx context.Context, tracer trace.Tracer, n int, text texts) trace.Span {
			_, s := tracer.Start(ctx, "span")
			for i := range n {
				s.SetAttributes(attribute.String("k", text(i)))
			}
			return s
		},
		"attributes of an event": func(ctx context.Context, tracer trace.Tracer, n int, text texts) trace.Span {
			_, s := tracer.Start(ctx, "span")
			s.AddEvent("event", trace.WithAttributes(many(n, text)...))
			return s
		},
		"links": func(ctx context.Context, tracer trace.Tracer, n int, text texts) trace.Span {
			_, s := tracer.Start(ctx, "span")
			for i := range n {
				s.AddLink(linkTo(1, attribute.Int(text(i), i)))
			}
			return s
		},
		"links at Start": func(ctx context.Context, tracer trace.Tracer, n int, text texts) trace.Span {
			var links []trace.Link
			for i := range n {
				links = append(links, linkTo(1, attribute.Int(text(i), i)))
			}
			_, s := tracer.Start(ctx, "span", trace.WithLinks(links...))
			return s
		},
	}
}

package bridge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// pairs makes attributes of text: "a=1 b=2". The text "-" is an attribute that is not valid.
func pairs(text string) (attrs []attribute.KeyValue) {
	for field := range strings.FieldsSeq(text) {
		if key, value, ok := strings.Cut(field, "="); ok {
			attrs = append(attrs, attribute.String(key, value))
		} else {
			attrs = append(attrs, attribute.KeyValue{})
		}
	}
	return attrs
}

// unpaired is the reverse of pairs.
func unpaired(attrs []attribute.KeyValue) string {
	var fields []string
	for _, kv := range attrs {
		fields = append(fields, string(kv.Key)+"="+kv.Value.AsString())
	}
	return strings.Join(fields, " ")
}

// A key has one value, the last, at the place of its first. Attributes over the limit are dropped and counted, as are
// those that are not valid. Values of keys that the span has are replaced even at the limit.
func TestProviderAttributes(t *testing.T) {
	type attributes struct {
		name    string
		limit   int
		calls   []string // of Start, then of SetAttributes
		want    string
		dropped int
	}
	cases := []attributes{
		{"none", 3, []string{""}, "", 0},
		{"start", 3, []string{"a=1 b=2"}, "a=1 b=2", 0},
		{"start and set", 3, []string{"a=1", "b=2 c=3"}, "a=1 b=2 c=3", 0},
		{"one by one", 3, []string{"", "a=1", "b=2", "c=3"}, "a=1 b=2 c=3", 0},
		{"replaced", 3, []string{"a=1 b=2", "a=3"}, "a=3 b=2", 0},
		{"replaced at the limit", 3, []string{"", "a=1 b=2 c=3", "b=4"}, "a=1 b=4 c=3", 0},
		{"replaced after others are dropped", 3, []string{"a=1 b=2 c=3", "d=4 e=5 a=6 f=7 c=8"}, "a=6 b=2 c=8", 3},
		{"twice at once", 3, []string{"", "a=1 a=2 b=3 a=4"}, "a=4 b=3", 0},
		{"twice at Start", 3, []string{"a=1 a=2 b=3 b=4"}, "a=2 b=4", 0},
		{"many times the same", 3, []string{"a=1", "a=2", "a=3", "a=4", "a=5", "a=6"}, "a=6", 0},
		{"the same before the limit", 3, []string{"a=1", "a=2", "a=3", "b=4 c=5"}, "a=3 b=4 c=5", 0},
		{"over the limit at Start", 3, []string{"a=1 b=2 c=3 d=4 e=5"}, "a=1 b=2 c=3", 2},
		{"over the limit twice", 3, []string{"a=1 b=2 c=3", "d=4", "d=4"}, "a=1 b=2 c=3", 2},
		{"over the limit with a key twice", 3, []string{"a=1", "b=1 b=2 c=1 c=2 d=1 d=2"}, "a=1 b=2 c=2", 2},
		{"not valid", 3, []string{"", "-"}, "", 1},
		{"not valid at Start", 3, []string{"- a=1 -"}, "a=1", 2},
		{"not valid among others", 3, []string{"a=1", "- b=2 -"}, "a=1 b=2", 2},
		{"not valid over the limit", 3, []string{"a=1 b=2 c=3", "- - -"}, "a=1 b=2 c=3", 3},
		{"not valid before the limit", 3, []string{"", "- - - - a=1"}, "a=1", 4},
		{"no key", 3, []string{"=1 a=2"}, "a=2", 1},
		{"no attributes allowed", 0, []string{"a=1 a=2", "- b=3"}, "", 4},
		{"no limit", -1, []string{"a=1 b=2 c=3 d=4", "e=5 a=6"}, "a=6 b=2 c=3 d=4 e=5", 0},
		{"limit of one", 1, []string{"a=1 b=2", "b=3 a=4"}, "a=4", 2},
	}
	overBothOf(t, cases, func(c attributes) string { return c.name }, func(t *testing.T, start newProvider, c attributes) {
		_, tracer, got := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) { l.AttributeCountLimit = c.limit })})
		_, s := tracer.Start(t.Context(), "span", trace.WithAttributes(pairs(c.calls[0])...))
		for _, call := range c.calls[1:] {
			s.SetAttributes(pairs(call)...)
		}
		check := func(when string, s sdktrace.ReadOnlySpan) {
			if unpaired(s.Attributes()) != c.want || s.DroppedAttributes() != c.dropped {
				t.Errorf("%s: %s and %d dropped, want %s and %d", when, unpaired(s.Attributes()), s.DroppedAttributes(), c.want, c.dropped)
			}
		}
		check("open", s.(sdktrace.ReadOnlySpan))
		s.End()
		check("ended", s.(sdktrace.ReadOnlySpan))
		check("at the processor", got.one(t, "span"))
	})
}

// With many attributes, where places are looked up otherwise, the same rules hold.
func TestProviderManyAttributes(t *testing.T) {
	var first, second []attribute.KeyValue
	for i := range 100 {
		first = append(first, attribute.Int(fmt.Sprint("k", i%80), i))
		second = append(second, attribute.Int(fmt.Sprint("k", 150-i), 1000+i))
	}
	for _, limit := range []int{-1, 40, 80, 100, 128} {
		var want []attribute.KeyValue
		overBoth(t, func(t *testing.T, start newProvider) {
			_, tracer, _ := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) { l.AttributeCountLimit = limit })})
			_, s := tracer.Start(t.Context(), "span", trace.WithAttributes(first...))
			s.SetAttributes(second...)
			s.SetAttributes(first[:40]...)
			got := s.(sdktrace.ReadOnlySpan).Attributes()
			if want == nil {
				want = got
			}
			if !slices.Equal(got, want) || limit > 0 && len(got) > limit {
				t.Errorf("limit %d: attributes are %s, perfline's %s", limit, text(got), text(want))
			}
		})
	}
}

// A caller may use its slices again after Start, SetAttributes and AddEvent, and the spans do not write to them.
func TestProviderKeepsNoSlicesOfAttributes(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		deep := attribute.Map("m", attribute.Int("k", 1), attribute.Int("k", 2))
		attrs := []attribute.KeyValue{attribute.Int("a", 1), {}, attribute.Int("a", 2), deep}
		given := slices.Clone(attrs)
		options := []trace.SpanStartEventOption{trace.WithAttributes(attrs...)}
		_, s := tracer.Start(t.Context(), "span", options[0])
		s.SetAttributes(attrs...)
		s.AddEvent("event", options[0])
		if !slices.Equal(attrs, given) {
			t.Errorf("the caller's attributes became %s", text(attrs))
		}
		for i := range attrs {
			attrs[i] = attribute.Int("changed", i)
		}
		s.End()
		ended := got.one(t, "span")
		for _, kv := range slices.Concat(ended.Attributes(), ended.Events()[0].Attributes) {
			if kv.Key == "changed" {
				t.Errorf("the span has the caller's change: %s", text(ended.Attributes()))
			}
		}
	})
}

// Texts are cut to their first characters, and bytes to their first bytes, in lists and maps as well.
func TestProviderValueLength(t *testing.T) {
	str, list, dict := attribute.StringValue, attribute.SliceValue, attribute.MapValue
	type length struct {
		limit    int
		in, want attribute.Value
	}
	cases := []length{
		{-1, str("abc"), str("abc")}, {0, str("abc"), str("")}, {1, str("abc"), str("a")}, {3, str("abc"), str("abc")}, {4, str("abc"), str("abc")}, {0, str(""), str("")},
		{2, str("äöü"), str("äö")}, {3, str("äöü"), str("äöü")}, {5, str("äöü"), str("äöü")}, {1, str("€"), str("€")}, {0, str("€"), str("")},
		{2, str("a\uFFFDb"), str("a\uFFFD")}, {1, str("\uFFFD\uFFFD"), str("\uFFFD")},
		{0, str("\x80"), str("")}, {1, str("\x80"), str("\x80")}, {1, str("\x80a"), str("a")}, {2, str("a\x80b\x80c"), str("ab")}, {3, str("日\x80"), str("日")},
		{4, str("日\x80"), str("日\x80")}, {2, str("ab\xff"), str("ab")}, {2, str("\xffab\xff"), str("ab")}, {1, str("\xff\xfe"), str("")}, {2, str("a\xff\xffbc"), str("ab")},
		{3, str("a\uFFFD\xffbc"), str("a\uFFFDb")}, {1, str("\xff\uFFFD"), str("\uFFFD")},
		{2, attribute.ByteSliceValue([]byte("abc")), attribute.ByteSliceValue([]byte("ab"))}, {3, attribute.ByteSliceValue([]byte("abc")), attribute.ByteSliceValue([]byte("abc"))},
		{0, attribute.ByteSliceValue([]byte{0xff}), attribute.ByteSliceValue([]byte{})}, {-1, attribute.ByteSliceValue([]byte("abc")), attribute.ByteSliceValue([]byte("abc"))},
		{1, attribute.StringSliceValue([]string{"ab", "", "c", "de"}), attribute.StringSliceValue([]string{"a", "", "c", "d"})},
		{2, attribute.StringSliceValue([]string{"ab", "c"}), attribute.StringSliceValue([]string{"ab", "c"})}, {0, attribute.StringSliceValue(nil), attribute.StringSliceValue(nil)},
		{1, attribute.StringSliceValue([]string{"a", "b", "c", "d", "e", "fg"}), attribute.StringSliceValue([]string{"a", "b", "c", "d", "e", "f"})},
		{1, list(str("ab"), attribute.IntValue(12), list(str("cd"))), list(str("a"), attribute.IntValue(12), list(str("c")))}, {9, list(str("ab")), list(str("ab"))},
		{1, list(attribute.StringSliceValue([]string{"ab"}), attribute.ByteSliceValue([]byte("cd"))), list(attribute.StringSliceValue([]string{"a"}), attribute.ByteSliceValue([]byte("c")))},
		{1, dict(attribute.String("long", "ab"), attribute.Map("m", attribute.String("k", "cd"))), dict(attribute.String("long", "a"), attribute.Map("m", attribute.String("k", "c")))},
		{1, dict(attribute.String("a", "1"), attribute.String("b", "2")), dict(attribute.String("a", "1"), attribute.String("b", "2"))}, {0, dict(), dict()}, {0, list(), list()},
		{0, attribute.BoolValue(true), attribute.BoolValue(true)}, {0, attribute.IntValue(12), attribute.IntValue(12)}, {0, attribute.Float64Value(1.5), attribute.Float64Value(1.5)},
		{0, attribute.IntSliceValue([]int{12}), attribute.IntSliceValue([]int{12})}, {0, attribute.BoolSliceValue([]bool{true}), attribute.BoolSliceValue([]bool{true})},
		{0, attribute.Float64SliceValue([]float64{12}), attribute.Float64SliceValue([]float64{12})},
	}
	overBothOf(t, cases, func(c length) string { return fmt.Sprintf("%d of %s", c.limit, c.in.String()) }, func(t *testing.T, start newProvider, c length) {
		before := fmt.Sprintf("%#v", c.in)
		for name, limit := range map[string]int{"below the count limit": 9, "over it": 1} {
			_, tracer, got := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) {
				l.AttributeValueLengthLimit, l.AttributeCountLimit = c.limit, limit
			})})
			attr := attribute.KeyValue{Key: "key is long", Value: c.in}
			_, s := tracer.Start(t.Context(), "span", trace.WithAttributes(attr, attr))
			s.SetAttributes(attribute.KeyValue{Key: "key is long", Value: c.in})
			s.AddEvent("event", trace.WithAttributes(attr))
			s.AddLink(trace.Link{SpanContext: spanContext(true, true), Attributes: []attribute.KeyValue{attr}})
			s.End()
			ended := got.one(t, "span")
			if attrs := ended.Attributes(); len(attrs) != 1 || attrs[0].Value != c.want {
				t.Errorf("%s: %s, want %s", name, text(attrs), c.want.String())
			}
			if event, link := ended.Events()[0].Attributes[0].Value, ended.Links()[0].Attributes[0].Value; event != c.in || link != c.in {
				t.Errorf("%s: the event has %s and the link %s, where no length is limited", name, event.String(), link.String())
			}
		}
		if after := fmt.Sprintf("%#v", c.in); after != before {
			t.Errorf("the caller's value became %s, was %s", after, before)
		}
	})
}

// Maps have each key once, with its last value. Lists and maps that lie too deep are empty values. That holds for
// attributes of spans, events, links and scopes.
func TestProviderValueDepth(t *testing.T) {
	num, list, dict := attribute.IntValue, attribute.SliceValue, attribute.MapValue
	kv := func(key string, v attribute.Value) attribute.KeyValue {
		return attribute.KeyValue{Key: attribute.Key(key), Value: v}
	}
	type depth struct {
		limit    int
		in, want attribute.Value
	}
	var none attribute.Value
	deep := func(v attribute.Value, levels int) attribute.Value {
		for i := range levels {
			if i%2 == 0 {
				v = list(num(i), v)
			} else {
				v = dict(kv("a", num(i)), kv("b", v))
			}
		}
		return v
	}
	cases := []depth{
		{-1, dict(kv("k", num(1)), kv("k", num(2))), dict(kv("k", num(2)))},
		{1, dict(kv("k", num(1)), kv("k", num(2)), kv("a", num(3)), kv("z", num(4)), kv("z", num(5))), dict(kv("a", num(3)), kv("k", num(2)), kv("z", num(5)))},
		{2, dict(kv("", num(1)), kv("", num(2)), kv("x", none)), dict(kv("", num(2)), kv("x", none))},
		{2, list(dict(kv("k", num(1)), kv("k", num(2)))), list(dict(kv("k", num(2))))},
		{9, dict(kv("m", dict(kv("k", num(1)), kv("k", num(2)))), kv("m", num(3))), dict(kv("m", num(3)))},
		{9, dict(kv("m", num(3)), kv("m", dict(kv("k", num(1)), kv("k", num(2))))), dict(kv("m", dict(kv("k", num(2)))))},
		{1, list(list(), num(1)), list(none, num(1))}, {1, dict(kv("m", dict())), dict(kv("m", none))}, {1, list(num(1), attribute.StringValue("x")), list(num(1), attribute.StringValue("x"))},
		{1, list(attribute.IntSliceValue([]int{1}), attribute.BoolSliceValue([]bool{true})), list(none, none)},
		{1, list(attribute.StringSliceValue([]string{"a"}), attribute.ByteSliceValue([]byte("a")), attribute.Float64SliceValue([]float64{1})), list(none, none, none)},
		{2, list(attribute.IntSliceValue([]int{1}), list(list())), list(attribute.IntSliceValue([]int{1}), list(none))},
		{1, attribute.IntSliceValue([]int{1}), attribute.IntSliceValue([]int{1})}, {1, attribute.ByteSliceValue([]byte("a")), attribute.ByteSliceValue([]byte("a"))},
		{0, deep(list(), 63), deep(list(), 63)}, {0, deep(list(), 64), deep(none, 64)}, // 0 means the default, 64
		{-1, deep(list(num(1)), 200), deep(list(num(1)), 200)}, {-5, deep(list(num(1)), 70), deep(list(num(1)), 70)},
	}
	overBothOf(t, cases, func(c depth) string { return fmt.Sprintf("%d of %.60s", c.limit, c.in.String()) }, func(t *testing.T, start newProvider, c depth) {
		attr := kv("key", c.in)
		p, _, got := recorded(t, start, providerConfig{
			limits:  limits(func(l *sdktrace.SpanLimits) { l.AttributeValueDepthLimit = c.limit; l.AttributeCountLimit = 2 }),
			sampler: fixed{Decision: sdktrace.RecordAndSample, Attributes: []attribute.KeyValue{kv("sampler", c.in)}},
		})
		link := trace.Link{SpanContext: spanContext(true, true), Attributes: []attribute.KeyValue{kv("first", num(1)), attr}}
		_, s := p.Tracer("test", trace.WithInstrumentationAttributes(attr)).Start(t.Context(), "span", trace.WithAttributes(attr), trace.WithLinks(link))
		s.SetAttributes(attr, kv("over the limit", c.in))
		s.AddEvent("event", trace.WithAttributes(kv("first", num(1)), attr))
		s.AddLink(link)
		s.End()
		ended := got.one(t, "span")
		found := map[string][]attribute.KeyValue{
			"span": ended.Attributes(), "event": ended.Events()[0].Attributes, "link of Start": ended.Links()[0].Attributes, "link": ended.Links()[1].Attributes,
		}
		for where, attrs := range found {
			if len(attrs) != 2 || attrs[1].Value != c.want {
				t.Errorf("%s: %s, want %s", where, text(attrs), c.want.String())
			}
		}
		if v := ended.Attributes()[0].Value; v != c.want {
			t.Errorf("sampler: %s, want %s", v.String(), c.want.String())
		}
		scope := ended.InstrumentationScope().Attributes
		if v, _ := scope.Value("key"); v != c.want {
			t.Errorf("scope: %s, want %s", v.String(), c.want.String())
		}
		if attr.Value != c.in {
			t.Error("the caller's value was changed")
		}
	})
}

// Length and depth are limited together.
func TestProviderValueLengthAndDepth(t *testing.T) {
	in := attribute.Map("m", attribute.String("k", "long"), attribute.String("k", "longer"), attribute.Map("n", attribute.String("k", "long")))
	want := attribute.Map("m", attribute.String("k", "lo"), attribute.KeyValue{Key: "n"})
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, _ := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) { l.AttributeValueDepthLimit, l.AttributeValueLengthLimit = 1, 2 })})
		_, s := tracer.Start(t.Context(), "span", trace.WithAttributes(in))
		if got := s.(sdktrace.ReadOnlySpan).Attributes(); len(got) != 1 || got[0] != want {
			t.Errorf("got %s, want %s", text(got), text([]attribute.KeyValue{want}))
		}
	})
}

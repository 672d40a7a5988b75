package contrib_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// single returns the spans, each with its resource and scope.
func single(sent []*tracepb.ResourceSpans) (all []*tracepb.ResourceSpans) {
	for _, rs := range sent {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				all = append(all, proto.CloneOf(&tracepb.ResourceSpans{Resource: rs.GetResource(), SchemaUrl: rs.GetSchemaUrl(),
					ScopeSpans: []*tracepb.ScopeSpans{{Scope: ss.GetScope(), SchemaUrl: ss.GetSchemaUrl(), Spans: []*tracepb.Span{s}}}}))
			}
		}
	}
	return all
}

func spanOf(s *tracepb.ResourceSpans) *tracepb.Span { return s.GetScopeSpans()[0].GetSpans()[0] }

// normalized replaces what differs from run to run: ids become places in a fixed order, times become 1 or stay
// 0, and addresses lose their ports. Ids of spans that did not arrive stay.
func normalized(t *testing.T, all []*tracepb.ResourceSpans) []*tracepb.ResourceSpans {
	t.Helper()
	byID := map[string]*tracepb.Span{}
	for _, s := range all {
		byID[string(spanOf(s).GetSpanId())] = spanOf(s)
	}
	if len(byID) != len(all) {
		t.Errorf("%d spans have %d ids", len(all), len(byID))
	}
	paths := map[*tracepb.Span]string{}
	for _, s := range byID {
		for up := s; up != nil; up = byID[string(up.GetParentSpanId())] {
			paths[s] = fmt.Sprintf("%s %v/%s", up.GetName(), up.GetKind(), paths[s])
		}
	}
	slices.SortFunc(all, func(a, b *tracepb.ResourceSpans) int {
		return cmp.Or(cmp.Compare(paths[spanOf(a)], paths[spanOf(b)]), cmp.Compare(spanOf(a).GetStartTimeUnixNano(), spanOf(b).GetStartTimeUnixNano()))
	})
	spans, traces := places{length: 8}, places{length: 16}
	for _, s := range all {
		spans.add(spanOf(s).GetSpanId())
		traces.add(spanOf(s).GetTraceId())
	}
	for _, rs := range all {
		s := spanOf(rs)
		if parent := byID[string(s.GetParentSpanId())]; parent != nil && string(parent.GetTraceId()) != string(s.GetTraceId()) {
			t.Errorf("%q is in another trace than its parent %q", s.GetName(), parent.GetName())
		}
		if s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano() {
			t.Errorf("%q ends before it starts", s.GetName())
		}
		// perfline's roots say that their trace's id is random, as the specification wants. The SDK's do not.
		s.Flags &^= uint32(trace.FlagsRandom)
		for _, l := range s.GetLinks() {
			l.Flags &^= uint32(trace.FlagsRandom)
		}
	}
	for _, rs := range all {
		s := spanOf(rs)
		s.TraceId, s.SpanId, s.ParentSpanId = traces.of(s.GetTraceId()), spans.of(s.GetSpanId()), spans.of(s.GetParentSpanId())
		s.StartTimeUnixNano, s.EndTimeUnixNano = min(s.GetStartTimeUnixNano(), 1), min(s.GetEndTimeUnixNano(), 1)
		s.Status.Message = withoutPorts(s.GetStatus().GetMessage())
		normalizeValues(s.GetAttributes())
		for _, e := range s.GetEvents() {
			e.TimeUnixNano = min(e.GetTimeUnixNano(), 1)
			normalizeValues(e.GetAttributes())
		}
		for _, l := range s.GetLinks() {
			l.TraceId, l.SpanId = traces.of(l.GetTraceId()), spans.of(l.GetSpanId())
		}
	}
	return all
}

// places number ids by their first appearance.
type places struct {
	length int
	ids    map[string]uint64
}

func (p *places) add(id []byte) {
	if p.ids == nil {
		p.ids = map[string]uint64{}
	}
	if _, ok := p.ids[string(id)]; !ok {
		p.ids[string(id)] = uint64(len(p.ids)) + 1
	}
}

func (p *places) of(id []byte) []byte {
	if n, ok := p.ids[string(id)]; ok {
		return binary.BigEndian.AppendUint64(make([]byte, p.length-8), n)
	}
	return id
}

var (
	address = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	caller  = regexp.MustCompile(`contrib_test\.\w+`)
)

func withoutPorts(s string) string { return address.ReplaceAllString(s, "127.0.0.1:PORT") }

// normalizeValues replaces ports, and leaves a stack's functions of this package.
func normalizeValues(attrs []*commonpb.KeyValue) {
	for _, kv := range attrs {
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			if kv.GetKey() == "exception.stacktrace" {
				v.StringValue = fmt.Sprintf("%.10s in %q", v.StringValue, caller.FindAllString(v.StringValue, -1))
			}
			v.StringValue = withoutPorts(v.StringValue)
		case *commonpb.AnyValue_IntValue:
			if strings.HasSuffix(kv.GetKey(), ".port") {
				v.IntValue = min(v.IntValue, 1)
			}
		}
	}
}

// differences returns what differs between the spans of both.
func differences(want, got []*tracepb.ResourceSpans) (all []string) {
	if w, g := namesOf(want), namesOf(got); !slices.Equal(w, g) {
		return []string{fmt.Sprintf("spans %q arrive, want %q", g, w)}
	}
	for i := range want {
		if !proto.Equal(got[i], want[i]) {
			all = append(all, fmt.Sprintf("got  %v\nwant %v", got[i], want[i]))
		}
	}
	return all
}

// The comparison sees a change of each field, and of the provider's settings.
func TestComparisonFinds(t *testing.T) {
	s := scenario{setup: setup{limit: 3}, work: everything}
	want := s.arrived(t, overSDK)
	if again := differences(want, s.arrived(t, overSDK)); len(again) > 0 {
		t.Errorf("the same work twice over the SDK's provider differs: %q", again)
	}
	for name, change := range map[string]func(*tracepb.ResourceSpans, *tracepb.Span){
		"name":                func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Name += "x" },
		"kind":                func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Kind++ },
		"trace":               func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.TraceId[15]++ },
		"parent":              func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.ParentSpanId = s.SpanId },
		"trace state":         func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.TraceState = "a=b" },
		"flags":               func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Flags ^= 0x200 },
		"no time":             func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.EndTimeUnixNano = 0 },
		"attribute":           func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Attributes[0].Key += "x" },
		"order of attributes": func(_ *tracepb.ResourceSpans, s *tracepb.Span) { slices.Reverse(s.Attributes) },
		"dropped attributes":  func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.DroppedAttributesCount++ },
		"event":               func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Events[0].Name += "x" },
		"order of events":     func(_ *tracepb.ResourceSpans, s *tracepb.Span) { slices.Reverse(s.Events) },
		"event's time":        func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Events[0].TimeUnixNano = 0 },
		"event's attributes":  func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Events[0].DroppedAttributesCount++ },
		"dropped events":      func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.DroppedEventsCount++ },
		"link":                func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Links[0].SpanId[0]++ },
		"dropped links":       func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.DroppedLinksCount++ },
		"status":              func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Status.Code = tracepb.Status_STATUS_CODE_OK },
		"description":         func(_ *tracepb.ResourceSpans, s *tracepb.Span) { s.Status.Message += "x" },
		"scope":               func(rs *tracepb.ResourceSpans, _ *tracepb.Span) { rs.ScopeSpans[0].Scope.Version += "x" },
		"scope's schema":      func(rs *tracepb.ResourceSpans, _ *tracepb.Span) { rs.ScopeSpans[0].SchemaUrl += "x" },
		"resource":            func(rs *tracepb.ResourceSpans, _ *tracepb.Span) { rs.Resource.Attributes[0].Key += "x" },
		"resource's schema":   func(rs *tracepb.ResourceSpans, _ *tracepb.Span) { rs.SchemaUrl += "x" },
	} {
		got := make([]*tracepb.ResourceSpans, len(want))
		for i, rs := range want {
			got[i] = proto.CloneOf(rs)
		}
		last := got[len(got)-1] // the child
		change(last, spanOf(last))
		if len(differences(want, got)) == 0 {
			t.Errorf("a change of %s makes no difference", name)
		}
	}
	if len(differences(want, want[1:])) == 0 {
		t.Error("a span that is missing makes no difference")
	}
	s.limit++
	if len(differences(want, s.arrived(t, overOwn))) == 0 {
		t.Error("other limits make no difference")
	}
}

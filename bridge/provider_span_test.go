package bridge_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
)

// A span that has ended takes nothing more, and its first end counts.
func TestProviderEnd(t *testing.T) {
	begin := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	overBoth(t, func(t *testing.T, start newProvider) {
		exported := &exportedSpans{}
		_, tracer, got := recorded(t, start, providerConfig{exporter: exported})
		_, s := tracer.Start(t.Context(), "span", trace.WithTimestamp(begin))
		s.AddEvent("before")
		s.End(trace.WithTimestamp(begin.Add(1)))
		if s.IsRecording() {
			t.Error("the span records after End")
		}
		s.SetName("renamed")
		s.SetStatus(codes.Error, "late")
		s.SetAttributes(attribute.Int("late", 1))
		s.AddEvent("late")
		s.RecordError(errors.New("late"))
		s.AddLink(linkTo(1))
		s.End(trace.WithTimestamp(begin.Add(2)))
		func() {
			defer func() { _ = recover() }()
			defer s.End(trace.WithStackTrace(true))
			panic("late")
		}()
		for _, s := range []sdktrace.ReadOnlySpan{s.(sdktrace.ReadOnlySpan), got.one(t, "span")} {
			if s.Name() != "span" || s.Status() != (sdktrace.Status{}) || len(s.Attributes()) > 0 || eventList(s) != "before[]-0" || len(s.Links()) > 0 {
				t.Errorf("the span took something after End: %s %v %s %s %s", s.Name(), s.Status(), text(s.Attributes()), eventList(s), linkList(s))
			}
			if !s.EndTime().Equal(begin.Add(1)) {
				t.Errorf("the end is %v, want %v", s.EndTime(), begin.Add(1))
			}
		}
		if names := exported.names(); names != "" && names != "span" {
			t.Errorf("exported %s, want span once", names)
		}
	})
}

// A status is replaced by one that is as strong: Ok is stronger than Error, and Error than Unset. Only Error has a description.
func TestProviderStatus(t *testing.T) {
	type set struct {
		code        codes.Code
		description string
	}
	failed, ok, unset := set{codes.Error, "d"}, set{codes.Ok, "d"}, set{codes.Unset, "d"}
	type status struct {
		name string
		sets []set
		want sdktrace.Status
	}
	cases := []status{
		{"none", nil, sdktrace.Status{}},
		{"unset", []set{unset}, sdktrace.Status{}},
		{"error", []set{failed}, sdktrace.Status{Code: codes.Error, Description: "d"}},
		{"ok", []set{ok}, sdktrace.Status{Code: codes.Ok}},
		{"error again", []set{{codes.Error, "first"}, failed}, sdktrace.Status{Code: codes.Error, Description: "d"}},
		{"error without a description", []set{failed, {codes.Error, ""}}, sdktrace.Status{Code: codes.Error}},
		{"ok after error", []set{failed, ok}, sdktrace.Status{Code: codes.Ok}},
		{"error after ok", []set{ok, failed}, sdktrace.Status{Code: codes.Ok}},
		{"ok again", []set{ok, ok}, sdktrace.Status{Code: codes.Ok}},
		{"unset after ok", []set{ok, unset}, sdktrace.Status{Code: codes.Ok}},
		{"unset after error", []set{failed, unset}, sdktrace.Status{Code: codes.Error, Description: "d"}},
		{"unknown code", []set{{9, "d"}, ok}, sdktrace.Status{Code: 9}},
	}
	overBothOf(t, cases, func(c status) string { return c.name }, func(t *testing.T, start newProvider, c status) {
		_, tracer, got := recorded(t, start, providerConfig{})
		_, s := tracer.Start(t.Context(), "span")
		for _, set := range c.sets {
			s.SetStatus(set.code, set.description)
		}
		s.End()
		if status := got.one(t, "span").Status(); status != c.want {
			t.Errorf("status is %v, want %v", status, c.want)
		}
	})
}

// A span counts the children that start before its end, also children that are dropped, have another tracer, or are new roots.
func TestProviderChildCount(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		sampler := samplerFunc(func(p sdktrace.SamplingParameters) (r sdktrace.SamplingResult) {
			if p.Name != "dropped" {
				r.Decision = sdktrace.RecordAndSample
			}
			return r
		})
		p, tracer, got := recorded(t, start, providerConfig{sampler: sampler})
		ctx, root := tracer.Start(t.Context(), "root")
		inner, child := tracer.Start(ctx, "child")
		_, grandchild := p.Tracer("other").Start(inner, "grandchild")
		below, dropped := tracer.Start(ctx, "dropped")
		_, under := tracer.Start(below, "under a dropped one")
		_, other := tracer.Start(ctx, "new root", trace.WithNewRoot())
		_, elsewhere := start(t, providerConfig{}).Tracer("test").Start(ctx, "another provider")
		if n := root.(sdktrace.ReadOnlySpan).ChildSpanCount(); n != 4 {
			t.Errorf("the open root counts %d children, want 4", n)
		}
		for _, s := range []trace.Span{grandchild, child, dropped, under, other, elsewhere, root} {
			s.End()
		}
		tracer.Start(ctx, "late")
		for name, want := range map[string]int{"root": 4, "child": 1, "grandchild": 0, "under a dropped one": 0, "new root": 0} {
			if n := got.one(t, name).ChildSpanCount(); n != want {
				t.Errorf("%s counts %d children, want %d", name, n, want)
			}
		}
		if parent := got.one(t, "under a dropped one").Parent(); !parent.Equal(dropped.SpanContext()) {
			t.Errorf("the parent is %v, want the dropped span %v", parent, dropped.SpanContext())
		}
	})
}

// An open span can be read, and shows each change.
func TestProviderReadWriteSpan(t *testing.T) {
	begin := time.Date(2020, 1, 2, 3, 4, 5, 6, time.UTC)
	parent := spanContext(true, true)
	overBoth(t, func(t *testing.T, start newProvider) {
		tracer := start(t, providerConfig{}).Tracer("scope", trace.WithInstrumentationVersion("3"))
		ctx, span := tracer.Start(trace.ContextWithRemoteSpanContext(t.Context(), parent), "a", trace.WithTimestamp(begin), trace.WithSpanKind(trace.SpanKindClient))
		s, ok := span.(sdktrace.ReadWriteSpan)
		if !ok {
			t.Fatalf("a %T is not an sdktrace.ReadWriteSpan", span)
		}
		if s.Name() != "a" || !s.SpanContext().Equal(trace.SpanContextFromContext(ctx)) || !s.Parent().Equal(parent) || s.SpanKind() != trace.SpanKindClient {
			t.Errorf("%s %v %v %v", s.Name(), s.SpanContext(), s.Parent(), s.SpanKind())
		}
		if !s.StartTime().Equal(begin) || !s.EndTime().IsZero() || s.InstrumentationScope().Version != "3" || s.Resource().Len() == 0 || s.Status() != (sdktrace.Status{}) {
			t.Errorf("%v %v %v %v %v", s.StartTime(), s.EndTime(), s.InstrumentationScope(), s.Resource(), s.Status())
		}
		if s.Attributes() != nil || len(s.Events())+len(s.Links())+s.DroppedAttributes()+s.DroppedEvents()+s.DroppedLinks()+s.ChildSpanCount() != 0 {
			t.Errorf("a new span has %s %s %s", text(s.Attributes()), eventList(s), linkList(s))
		}
		s.SetName("b")
		s.SetAttributes(attribute.String("k", "1"))
		s.AddEvent("event")
		s.AddLink(linkTo(1))
		s.SetStatus(codes.Ok, "")
		if s.Name() != "b" || unpaired(s.Attributes()) != "k=1" || eventList(s) != "event[]-0" || linkList(s) != "1[]-0" || s.Status().Code != codes.Ok {
			t.Errorf("%s %s %s %s %v", s.Name(), unpaired(s.Attributes()), eventList(s), linkList(s), s.Status())
		}
		s.End(trace.WithTimestamp(begin.Add(1)))
		if !s.EndTime().Equal(begin.Add(1)) {
			t.Errorf("the end is %v", s.EndTime())
		}
	})
}

// A list that was read of a span stays as it was when the span changes.
func TestProviderViewsAreStable(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		for _, limit := range []int{-1, 1, 2, 8} {
			_, tracer, _ := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) {
				l.AttributeCountLimit, l.EventCountLimit, l.LinkCountLimit = limit, limit, limit
			})})
			_, span := tracer.Start(t.Context(), "span", trace.WithAttributes(pairs("a=1")...), trace.WithLinks(linkTo(1, pairs("a=1")...)))
			s := span.(sdktrace.ReadWriteSpan)
			s.SetAttributes(attribute.KeyValue{})
			s.AddEvent("first", trace.WithAttributes(pairs("a=1")...))
			attrs, events, links := s.Attributes(), s.Events(), s.Links()
			for i := range 3 {
				s.SetAttributes(pairs(fmt.Sprintf("a=%d b%d=2", i+2, i))...)
				s.AddEvent("later")
				s.AddLink(linkTo(2))
			}
			s.End()
			if unpaired(attrs) != "a=1" || len(events) != 1 || events[0].Name != "first" || len(links) != 1 || links[0].SpanContext.SpanID()[7] != 1 {
				t.Errorf("limit %d: attributes, events, links became %s, %v, %v", limit, unpaired(attrs), events, links)
			}
			if more := attrs[:cap(attrs)]; len(more) > 1 && more[1].Valid() {
				t.Errorf("limit %d: later attributes are in the spare capacity: %s", limit, unpaired(more))
			}
		}
	})
}

// A processor receives a span that cannot be changed.
func TestProviderEndedSpan(t *testing.T) {
	overBoth(t, func(t *testing.T, start newProvider) {
		_, tracer, got := recorded(t, start, providerConfig{})
		_, s := tracer.Start(t.Context(), "span")
		s.End()
		if s, ok := got.one(t, "span").(trace.Span); ok {
			t.Errorf("a processor received a %T, which is a trace.Span", s)
		}
	})
}

// Spans of perfline have each method of their interfaces themselves: none is the method of an embedded nil interface.
func TestProviderSpanMethods(t *testing.T) {
	p, tracer, got := recorded(t, newPerfline, providerConfig{})
	_, open := tracer.Start(t.Context(), "span")
	open.End()
	_, dropped := newPerfline(t, providerConfig{sampler: sdktrace.NeverSample()}).Tracer("test").Start(t.Context(), "dropped")
	spanMethods, readMethods := reflect.TypeFor[trace.Span](), reflect.TypeFor[sdktrace.ReadOnlySpan]()
	for _, c := range []struct {
		value  any
		ifaces []reflect.Type
	}{
		{open, []reflect.Type{spanMethods, readMethods}}, {got.one(t, "span"), []reflect.Type{readMethods}}, {dropped, []reflect.Type{spanMethods}},
		{tracer, []reflect.Type{reflect.TypeFor[trace.Tracer]()}}, {p, []reflect.Type{reflect.TypeFor[trace.TracerProvider]()}},
	} {
		v := reflect.ValueOf(c.value)
		for _, iface := range c.ifaces {
			for m := range iface.Methods() {
				if m.PkgPath == "" {
					callMethod(t, v, m.Name)
				}
			}
		}
	}
}

// callMethod calls a method with arguments that it accepts. A method of a nil interface panics.
func callMethod(t *testing.T, v reflect.Value, name string) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%v.%s: %v", v.Type(), name, p)
		}
	}()
	m := v.MethodByName(name)
	var args []reflect.Value
	for i := range m.Type().NumIn() {
		if in := m.Type().In(i); i < m.Type().NumIn()-1 || !m.Type().IsVariadic() {
			args = append(args, reflect.Zero(in))
		}
	}
	m.Call(args)
}

// A root says that its trace's id is random, if it is, and all spans below and other processes get to know (Trace Context 2,
// section 3.2.2.5.2). Nobody says so of ids that the program makes, or of another process's trace.
func TestRandomFlag(t *testing.T) {
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled, Remote: true})
	for _, c := range []struct {
		name    string
		config  bridge.TracerProviderConfig
		parent  trace.SpanContext
		random  bool
		sampled bool
	}{
		{"a root", bridge.TracerProviderConfig{}, trace.SpanContext{}, true, true},
		{"a root that is not sampled", bridge.TracerProviderConfig{Sampler: sdktrace.NeverSample()}, trace.SpanContext{}, true, false},
		{"a root by a sampler of the program's", bridge.TracerProviderConfig{Sampler: fixed{Decision: sdktrace.RecordAndSample}}, trace.SpanContext{}, true, true},
		{"ids of the program's", bridge.TracerProviderConfig{IDs: &sameIDs{}}, trace.SpanContext{}, false, true},
		{"another process's trace", bridge.TracerProviderConfig{}, remote, false, true},
		{"another process's random trace", bridge.TracerProviderConfig{}, remote.WithTraceFlags(trace.FlagsSampled.WithRandom(true)), true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tracer := bridge.NewTracerProvider(c.config).Tracer("test")
			ctx := trace.ContextWithSpanContext(t.Context(), c.parent)
			for _, name := range []string{"root", "child"} {
				var s trace.Span
				ctx, s = tracer.Start(ctx, name)
				if flags := s.SpanContext().TraceFlags(); flags.IsRandom() != c.random || flags.IsSampled() != c.sampled {
					t.Errorf("%s has the flags %s, want random %t, sampled %t", name, flags, c.random, c.sampled)
				}
			}
		})
	}
}

package bridge_test

import (
	"context"
	"fmt"
	rt "runtime/trace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanDifferences are differences of spans, and of their encoding.
var spanDifferences = []providerDifference{
	{
		what: "Dropped events and links of an ended span, when the limit is 0", sdk: "0 and 0 are counted", perfline: "2 and 3 are counted",
		why: "The SDK counts them, and leaves the counts out of the ended span.",
		observe: func(t *testing.T, start newProvider) string {
			_, tracer, got := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) { l.EventCountLimit, l.LinkCountLimit = 0, 0 })})
			_, s := tracer.Start(t.Context(), "span", trace.WithLinks(linkTo(1), linkTo(2), linkTo(3)))
			s.AddEvent("event")
			s.AddEvent("event")
			s.End()
			ended := got.one(t, "span")
			return fmt.Sprintf("%d and %d are counted", ended.DroppedEvents(), ended.DroppedLinks())
		},
	},
	{
		what: "The caller changes the attributes of a link that it has added", sdk: "the span has the change", perfline: "the span has them as they were added",
		why: "The slice belongs to the caller.",
		observe: func(t *testing.T, start newProvider) string {
			_, tracer, got := recorded(t, start, providerConfig{})
			link := linkTo(1, pairs("a=1")...)
			_, s := tracer.Start(t.Context(), "span", trace.WithLinks(link))
			link.Attributes[0] = pairs("a=2")[0]
			s.End()
			return either(unpaired(got.one(t, "span").Links()[0].Attributes) == "a=2", "the span has the change", "the span has them as they were added")
		},
	},
	{
		what: "Values nested more than 10 000 deep, when their depth has no limit", sdk: "whole", perfline: "cut",
		why: "The provider must not overflow the stack. Receivers refuse such values.",
		observe: func(t *testing.T, start newProvider) string {
			_, tracer, got := recorded(t, start, providerConfig{limits: limits(func(l *sdktrace.SpanLimits) { l.AttributeValueDepthLimit = -1 })})
			v := attribute.SliceValue()
			for range 10_000 {
				v = attribute.SliceValue(v)
			}
			_, s := tracer.Start(t.Context(), "span", trace.WithAttributes(attribute.KeyValue{Key: "k", Value: v}))
			s.End()
			depth := 0
			for v = got.one(t, "span").Attributes()[0].Value; v.Type() == attribute.SLICE; v = v.AsSlice()[0] {
				depth++
				if len(v.AsSlice()) == 0 {
					break
				}
			}
			return either(depth > 10_000, "whole", "cut")
		},
	},
	{
		what: "Events and Links of an open span without any", sdk: "empty", perfline: "nil",
		why: "Both are lists without elements. Of an ended span, both are nil.",
		observe: func(t *testing.T, start newProvider) string {
			_, s := start(t, providerConfig{}).Tracer("test").Start(t.Context(), "span")
			return either(s.(sdktrace.ReadOnlySpan).Events() == nil && s.(sdktrace.ReadOnlySpan).Links() == nil, "nil", "empty")
		},
	},
	{
		what: "The time of an error whose Error method takes a second", sdk: "1s after RecordError", perfline: "0s after RecordError",
		why: "The error happened before it was put into words.",
		observe: func(t *testing.T, start newProvider) (got string) {
			synctest.Test(t, func(t *testing.T) {
				_, s := start(t, providerConfig{}).Tracer("test").Start(t.Context(), "span")
				begin := time.Now()
				s.RecordError(slowError{})
				got = fmt.Sprint(s.(sdktrace.ReadOnlySpan).Events()[0].Time.Sub(begin), " after RecordError")
				s.End()
			})
			return got
		},
	},
	{
		what: "The stack of an exception begins with", sdk: "`trace.recordStackTrace`", perfline: "`bridge.stackOf`",
		why: "Both begin with the provider's own functions.",
		observe: func(t *testing.T, start newProvider) string {
			_, s := start(t, providerConfig{}).Tracer("test").Start(t.Context(), "span")
			recordHere(s)
			attrs := s.(sdktrace.ReadOnlySpan).Events()[0].Attributes
			line := strings.Split(attrs[len(attrs)-1].Value.AsString(), "\n")[1]
			name, _, _ := strings.Cut(line[strings.LastIndex(line, "/")+1:], "(")
			return "`" + name + "`"
		},
	},
	{
		what: "The child of an SDK's span counts in that span's ChildSpanCount", sdk: "yes", perfline: "no",
		why: "Each provider counts the children that are its own kind of span. OTLP does not carry the count.",
		observe: func(t *testing.T, start newProvider) string {
			ctx, parent := newSDK(t, providerConfig{}).Tracer("test").Start(t.Context(), "parent")
			_, child := start(t, providerConfig{}).Tracer("test").Start(ctx, "child")
			child.End()
			return either(parent.(sdktrace.ReadOnlySpan).ChildSpanCount() == 1, "yes", "no")
		},
	},
	{
		what: "Tasks of `runtime/trace` for a span and its child", sdk: "2", perfline: "1, and a message with the child's name",
		why: "A task for each span makes execution traces large. The child's regions belong to the task of its local root.",
		observe: func(t *testing.T, start newProvider) (got string) {
			tracer := start(t, providerConfig{}).Tracer("test")
			executionTrace(t, func() {
				if !rt.IsEnabled() {
					return
				}
				ctx, s := tracer.Start(t.Context(), "root")
				child, c := tracer.Start(ctx, "child")
				got = fmt.Sprint(tasks(child))
				c.End()
				s.End()
			})
			return got + either(got == "1", ", and a message with the child's name", "")
		},
	},
	{
		what: "A name that is not UTF-8", sdk: "the whole request fails", perfline: "U+FFFD is in its place",
		why: "OTLP cannot carry it. It holds for all texts.",
		observe: func(t *testing.T, start newProvider) string {
			s, err := sent(t, start, "a\xff", attribute.Value{})
			if err != nil {
				return either(strings.Contains(err.Error(), "UTF-8"), "the whole request fails", err.Error())
			}
			return either(s.GetName() == "a\uFFFD", "U+FFFD is in its place", s.GetName())
		},
	},
	{
		what: "The trace flags of a root", sdk: "01", perfline: "03",
		why: "The ids are random, and the specification wants the flag Random for them (Trace Context 2).",
		observe: func(t *testing.T, start newProvider) string {
			_, s := start(t, providerConfig{}).Tracer("test").Start(t.Context(), "span")
			defer s.End()
			return s.SpanContext().TraceFlags().String()
		},
	},
	{
		what: "The trace state of a link in OTLP", sdk: "is left out", perfline: "is sent, up to 512 bytes",
		why: "OTLP has a field for it. A client chooses the state, and a span may have many links.",
		observe: func(t *testing.T, start newProvider) string {
			state := trace.TraceState{}
			for i := range 2 {
				state, _ = state.Insert(fmt.Sprint("k", i), strings.Repeat("v", 251))
				s, err := sent(t, start, "span", attribute.IntValue(1), trace.Link{SpanContext: linkTo(1).SpanContext.WithTraceState(state)})
				if err != nil {
					t.Fatal(err)
				}
				switch got := s.GetLinks()[0].GetTraceState(); {
				case got == "" && i == 0:
					return "is left out"
				case got != state.String() && len(state.String()) <= 512:
					return "is " + got
				}
			}
			state, _ = state.Insert("more", "1")
			s, err := sent(t, start, "span", attribute.IntValue(1), trace.Link{SpanContext: linkTo(1).SpanContext.WithTraceState(state)})
			if err != nil {
				t.Fatal(err)
			}
			return either(s.GetLinks()[0].GetTraceState() == "", "is sent, up to 512 bytes", "is sent")
		},
	},
	{
		what: "Values of 40 lists within each other", sdk: "are sent", perfline: "are sent with a text in place of those below 30",
		why: "Receivers refuse a request that is nested too deep.",
		observe: func(t *testing.T, start newProvider) string {
			v := attribute.StringValue("x")
			for range 40 {
				v = attribute.SliceValue(v)
			}
			s, err := sent(t, start, "span", v)
			if err != nil {
				t.Fatal(err)
			}
			depth := 0
			at := s.GetAttributes()[0].GetValue()
			for ; at.GetArrayValue() != nil; at = at.GetArrayValue().GetValues()[0] {
				depth++
			}
			return either(depth == 40 && at.GetStringValue() == "x", "are sent", fmt.Sprintf("are sent with a text in place of those below %d", depth))
		},
	},
}

type slowError struct{}

func (slowError) Error() string {
	time.Sleep(time.Second) // of the test's clock
	return "slow"
}

// sent returns the span as it would be sent over OTLP, or the error of encoding it.
func sent(t *testing.T, start newProvider, name string, value attribute.Value, links ...trace.Link) (*tracepb.Span, error) {
	t.Helper()
	var sdk client
	var ours request
	exporter, err := otlptrace.New(t.Context(), &sdk)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, providerConfig{exporter: &ours})
	if _, ok := p.(*sdktrace.TracerProvider); ok {
		p.RegisterSpanProcessor(sdktrace.NewSimpleSpanProcessor(exporter))
	}
	_, s := p.Tracer("test").Start(t.Context(), name, trace.WithAttributes(attribute.KeyValue{Key: "k", Value: value}), trace.WithLinks(links...))
	s.End()
	var got tracepb.ScopeSpans
	if sdk.encoded != nil || sdk.err != nil {
		ours.bytes, err = sdk.encoded, sdk.err
	}
	if err == nil {
		ours.read()
		err = proto.Unmarshal(ours.bytes, &got)
	}
	if err != nil {
		return nil, err
	}
	return got.GetSpans()[0], nil
}

// A client of the SDK's exporter that encodes what it should send.
type client struct {
	encoded []byte
	err     error
}

func (*client) Start(context.Context) error { return nil }
func (*client) Stop(context.Context) error  { return nil }
func (c *client) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	c.encoded, c.err = proto.Marshal(spans[0].GetScopeSpans()[0])
	return nil
}

package spanfuzz

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A Client stores the spans that the SDK's exporter uploads. Client implements otlptrace.Client.
type Client struct{ Sent []*tracepb.ResourceSpans }

// Start does nothing, and returns nil.
func (c *Client) Start(context.Context) error { return nil }

// Stop does nothing, and returns nil.
func (c *Client) Stop(context.Context) error { return nil }

// UploadTraces appends spans to c.Sent.
func (c *Client) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	c.Sent = append(c.Sent, spans...)
	return nil
}

// BySDK returns the request that the SDK's exporter creates from spans. BySDK replaces invalid
// UTF-8 in the request. BySDK also adds the trace states of links, because the SDK's exporter omits
// these trace states.
func BySDK(tb testing.TB, spans []sdktrace.ReadOnlySpan) *tracepb.TracesData {
	tb.Helper()
	var c Client
	sdk, err := otlptrace.New(tb.Context(), &c)
	if err != nil {
		tb.Fatal(err)
	}
	for _, s := range spans {
		before := len(c.Sent)
		if err := sdk.ExportSpans(tb.Context(), []sdktrace.ReadOnlySpan{AsSent(s)}); err != nil {
			tb.Fatal(err)
		}
		for _, sent := range c.Sent[before:] {
			for i, link := range sent.GetScopeSpans()[0].GetSpans()[0].GetLinks() {
				if state := s.Links()[i].SpanContext.TraceState().String(); len(
					state) <= longestState {
					link.TraceState = state
				}
			}
		}
	}
	request := &tracepb.TracesData{ResourceSpans: c.Sent}
	repair(request.ProtoReflect())
	return request
}

// longestState is how many bytes of a trace state a link has at most, and a span under another one
// of the process.
const longestState = 512

// AsSent returns the span that perfline sends for s. If the parent of s belongs to this process,
// AsSent removes a trace state of more than 512 bytes.
func AsSent(s sdktrace.ReadOnlySpan) sdktrace.ReadOnlySpan { return short{s} }

type short struct{ sdktrace.ReadOnlySpan }

func (s short) SpanContext() trace.SpanContext {
	sc, parent := s.ReadOnlySpan.SpanContext(), s.Parent()
	if parent.IsValid() && !parent.IsRemote() && len(sc.TraceState().String()) > longestState {
		sc = sc.WithTraceState(trace.TraceState{})
	}
	return sc
}

func repair(m protoreflect.Message) {
	text := func(v protoreflect.Value) protoreflect.Value {
		return protoreflect.ValueOfString(strings.ToValidUTF8(v.String(), "\uFFFD"))
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsList() && f.Kind() == protoreflect.MessageKind:
			for i := range v.List().Len() {
				repair(v.List().Get(i).Message())
			}
		case f.Kind() == protoreflect.MessageKind:
			repair(v.Message())
		case f.Kind() == protoreflect.StringKind && !f.IsList():
			m.Set(f, text(v))
		}
		return true
	})
}

// Equal fails the test unless both requests contain the same spans, in any order. Spans are equal
// only if the resources and the scopes are equal, too.
func Equal(tb testing.TB, got, want *tracepb.TracesData) {
	tb.Helper()
	g, w := Flat(tb, got), Flat(tb, want)
	if len(g) != len(w) {
		tb.Fatalf("%d spans, want %d", len(g), len(w))
	}
	for i := range g {
		if !proto.Equal(g[i], w[i]) {
			tb.Fatalf("got  %v\nwant %v", g[i], w[i])
		}
	}
}

// Flat returns one message for each span. Each message contains the span's resource and scope. Flat
// sorts the messages by the encoded bytes.
func Flat(tb testing.TB, r *tracepb.TracesData) []*tracepb.ResourceSpans {
	tb.Helper()
	type sortable struct {
		bytes []byte
		m     *tracepb.ResourceSpans
	}
	var all []sortable
	for _, rs := range r.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				m := &tracepb.ResourceSpans{Resource: rs.GetResource(),
					SchemaUrl: rs.GetSchemaUrl(), ScopeSpans: []*tracepb.ScopeSpans{
						{Scope: ss.GetScope(), SchemaUrl: ss.GetSchemaUrl(),
							Spans: []*tracepb.Span{s}},
					}}
				b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
				if err != nil {
					tb.Fatal(err)
				}
				all = append(all, sortable{b, m})
			}
		}
	}
	slices.SortFunc(all, func(a, b sortable) int { return bytes.Compare(a.bytes, b.bytes) })
	out := make([]*tracepb.ResourceSpans, 0, len(all))
	for _, s := range all {
		out = append(out, s.m)
	}
	return out
}

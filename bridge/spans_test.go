package bridge_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A retainer is an output, as one outside this module, that keeps copies of what it gets.
type retainer struct {
	mu      sync.Mutex // guards what follows
	spans   []bridge.Spans
	records []bridge.Records
}

func (r *retainer) Accept(all []bridge.Spans) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range all {
		r.spans = append(r.spans, s.Clone())
	}
}

func (r *retainer) AcceptLogs(l bridge.Records) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, l.Clone())
}

func (*retainer) ForceFlush(context.Context) error { return nil }
func (*retainer) Shutdown(context.Context) error   { return nil }

// An output without this module's internal packages can keep spans and log records, decode them and
// read what they have in common, also after the provider has written others.
func TestOutputKeepsSpans(t *testing.T) {
	res := resource.NewSchemaless(attribute.String("service.name", "shop"))
	kept, timeline := &retainer{}, observer.NewTimeline(observer.TimelineOptions{})
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: timeline, Resource: res, Sampler: sdktrace.AlwaysSample(), Exporters: []bridge.Output{kept},
		Logs: kept, Marks: bridge.LogRecords,
	})
	const requests = 200 // several blocks
	shop, pay := p.Tracer("shop", trace.WithInstrumentationVersion("1")), p.Tracer("pay")
	for range requests {
		ctx, root := shop.Start(observer.NewContext(t.Context(), timeline), "GET /", trace.WithSpanKind(trace.SpanKindServer))
		_, child := pay.Start(ctx, "charge", trace.WithAttributes(attribute.String("text", string(make([]byte, 300)))))
		marks.Mark(ctx, "paid")
		child.End()
		root.End()
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, s := range kept.spans {
		var decoded tracepb.ScopeSpans
		if err := proto.Unmarshal(s.Bytes, &decoded); err != nil || len(decoded.GetSpans()) != s.Count {
			t.Fatalf("%d spans, want %d: %v", len(decoded.GetSpans()), s.Count, err)
		}
		name, root := decoded.GetSpans()[0].GetName(), s.Root()
		count[s.Scope().Name+s.Scope().Version+" "+name]++
		if s.Resource() != res || !slices.Equal(decoded.GetSpans()[0].GetTraceId(), s.TraceID[:]) {
			t.Errorf("resource %v, trace %v of %v", s.Resource(), s.TraceID, &decoded)
		}
		if (root != nil) != (name == "GET /") || root != nil && (root.TraceID != s.TraceID || root.Name != name || root.Class != "request") {
			t.Errorf("the root of %q is %+v", name, root)
		}
	}
	if len(count) != 2 || count["shop1 GET /"] != requests || count["pay charge"] != requests {
		t.Errorf("%v", count)
	}
	events := 0
	for _, r := range kept.records {
		var decoded logspb.ScopeLogs
		if err := proto.Unmarshal(r.Bytes, &decoded); err != nil || len(decoded.GetLogRecords()) != r.Count {
			t.Fatalf("%d records, want %d: %v", len(decoded.GetLogRecords()), r.Count, err)
		}
		if r.Resource() != res || r.Scope().Name != scope.Name || decoded.GetLogRecords()[0].GetEventName() != "paid" {
			t.Errorf("resource %v and scope %v of %v", r.Resource(), r.Scope(), &decoded)
		}
		events += r.Count
	}
	if events != requests {
		t.Errorf("%d log records, want %d", events, requests)
	}
}

// Spans and records that a program makes itself have no resource and no scope, and can be asked for
// them.
func TestSpansOfAProgram(t *testing.T) {
	var s bridge.Spans
	s.Bytes, s.Count = []byte{1}, 1
	if s.Scope().Name != "" || s.Resource() != nil || s.Root() != nil {
		t.Errorf("scope %v, resource %v, root %v", s.Scope(), s.Resource(), s.Root())
	}
	if own := s.Clone(); &own.Bytes[0] == &s.Bytes[0] {
		t.Error("Clone returns the program's bytes")
	}
	r := bridge.Records{Bytes: []byte{1}, Count: 1}
	if r.Scope().Name != "" || r.Resource() != nil {
		t.Errorf("scope %v, resource %v", r.Scope(), r.Resource())
	}
	if own := r.Clone(); &own.Bytes[0] == &r.Bytes[0] {
		t.Error("Clone returns the program's bytes")
	}
}

// A Root has words for the class of a local root and for why it is kept.
func TestRootOfSpans(t *testing.T) {
	kept := &retainer{}
	p := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Timeline: observer.NewTimeline(observer.TimelineOptions{}), Sampler: sdktrace.AlwaysSample(), Recorders: []bridge.Output{kept},
		Keep: &bridge.KeepPolicy{PerSecond: -1},
	})
	began := time.Now()
	end := func(name string, took time.Duration, kind trace.SpanKind, attrs ...attribute.KeyValue) trace.Span {
		_, span := p.Tracer("test").Start(t.Context(), name, trace.WithSpanKind(kind), trace.WithTimestamp(began), trace.WithAttributes(attrs...))
		if name == "fails" {
			span.SetStatus(codes.Error, "")
		}
		span.End(trace.WithTimestamp(began.Add(took)))
		return span
	}
	end("request", time.Millisecond, trace.SpanKindServer)
	end("slow", time.Second, trace.SpanKindConsumer)
	fails := end("fails", time.Millisecond, trace.SpanKindServer)
	end("events", time.Hour, trace.SpanKindServer, attribute.Bool(record.StreamKey, true))
	end("tick", time.Millisecond, trace.SpanKindInternal)
	end("redis.dial", time.Millisecond, trace.SpanKindClient)
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range kept.spans {
		root := s.Root()
		got = append(got, root.Name+": "+root.Class+" "+root.Keep)
		if want := (bridge.Root{
			TraceID: fails.SpanContext().TraceID(), SpanID: fails.SpanContext().SpanID(), Name: "fails", Class: "request",
			Start: began, End: began.Add(time.Millisecond), Failed: true, Keep: "failed",
		}); root.Name == "fails" && *root != want {
			t.Errorf("%+v, want %+v", *root, want)
		}
	}
	want := []string{"request: request ", "slow: request slow", "fails: request failed", "events: stream ", "tick: background ", "redis.dial: housekeeping "}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

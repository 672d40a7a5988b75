package otlpenc_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
)

func TestClassOf(t *testing.T) {
	job, stream := attribute.Bool(record.JobKey, true), attribute.Bool(record.StreamKey, true)
	noJob := attribute.Bool(record.JobKey, false)
	for _, c := range []struct {
		name       string
		kind       trace.SpanKind
		attributes []attribute.KeyValue
		want       local.Class
	}{
		{"GET /", trace.SpanKindServer, nil, local.Request},
		{"message", trace.SpanKindConsumer, nil, local.Request},
		{"GET /events", trace.SpanKindServer, []attribute.KeyValue{stream}, local.Stream},
		{"job", trace.SpanKindInternal, []attribute.KeyValue{job}, local.Request},
		{"job that streams", trace.SpanKindInternal, []attribute.KeyValue{job, stream}, local.Stream},
		{"no job", trace.SpanKindInternal, []attribute.KeyValue{noJob}, local.Background},
		{"call", trace.SpanKindClient, []attribute.KeyValue{stream}, local.Background},
		{"SQL.Conn.Ping", trace.SpanKindClient, nil, local.Housekeeping},
		{"redis.dial", trace.SpanKindInternal, []attribute.KeyValue{job}, local.Request},
		{"connect", trace.SpanKindClient, nil, local.Background},
	} {
		s := tracetest.SpanStub{Name: c.name, SpanKind: c.kind, Attributes: c.attributes}.Snapshot()
		if root, ok := otlpenc.RootOf(s); !ok || root.Class != c.want {
			t.Errorf("%q of kind %v with %v is %v, want %v", c.name, c.kind, c.attributes, root.Class, c.want)
		}
	}
}

func TestClassNames(t *testing.T) {
	for class, want := range map[local.Class][2]string{
		local.Request: {"request", "requests"}, local.Stream: {"stream", "streams"}, local.Inner: {"inner", "inner"},
		local.Background: {"background", "background"}, local.Housekeeping: {"housekeeping", "housekeeping"}, 99: {"housekeeping", "housekeeping"},
	} {
		if got := [2]string{class.String(), class.Plural()}; got != want {
			t.Errorf("class %d is %q, want %q", class, got, want)
		}
	}
}

// The end of a local root is what the SDK says about the span. Spans below others have none.
func TestRootOf(t *testing.T) {
	above := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}
	stub := tracetest.SpanStub{
		Name: "GET /", SpanKind: trace.SpanKindServer, StartTime: testTime, EndTime: testTime.Add(time.Second), Status: sdktrace.Status{Code: codes.Error},
		SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}),
	}
	want := local.Root{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Name: "GET /", Start: testTime, End: testTime.Add(time.Second), Failed: true}
	for _, c := range []struct {
		name   string
		remote bool
		parent bool
		isRoot bool
	}{{"without a parent", false, false, true}, {"under another process", true, true, true}, {"under another span", false, true, false}} {
		above.Remote = c.remote
		if stub.Parent = (trace.SpanContext{}); c.parent {
			stub.Parent = trace.NewSpanContext(above)
		}
		root, ok := otlpenc.RootOf(stub.Snapshot())
		if ok != c.isRoot || ok && root != want {
			t.Errorf("%s: %+v, %v, want %+v, %v", c.name, root, ok, want, c.isRoot)
		}
		if ok && root.Took() != time.Second {
			t.Errorf("took %v, want 1s", root.Took())
		}
	}
}

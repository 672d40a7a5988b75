package otlp_test

import (
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/lab/internal/otlp"
)

func request() *collectorpb.ExportTraceServiceRequest {
	spans := func(n int) []*tracepb.Span {
		all := make([]*tracepb.Span, n)
		for i := range all {
			all[i] = &tracepb.Span{Name: "span", Events: []*tracepb.Span_Event{{Name: "event"}}}
		}
		return all
	}
	return &collectorpb.ExportTraceServiceRequest{ResourceSpans: []*tracepb.ResourceSpans{
		{Resource: &resourcepb.Resource{}, ScopeSpans: []*tracepb.ScopeSpans{{Spans: spans(2)}, {Spans: spans(3)}}},
		{ScopeSpans: []*tracepb.ScopeSpans{{SchemaUrl: "https://example.org", Spans: spans(1)}}},
	}}
}

func TestSpans(t *testing.T) {
	encoded, err := proto.Marshal(request())
	if err != nil {
		t.Fatal(err)
	}
	if got := otlp.Spans(encoded); got != 6 {
		t.Errorf("%d spans, want 6", got)
	}
	for n := range encoded { // must return, whatever is cut off
		otlp.Spans(encoded[:n])
	}
}

func TestReceiver(t *testing.T) {
	r, err := otlp.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	conn, err := grpc.NewClient(r.Endpoint()[len("http://"):], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer, err := collectorpb.NewTraceServiceClient(conn).Export(t.Context(), request())
	if err != nil || answer.PartialSuccess != nil {
		t.Fatalf("the answer is %v, %v", answer, err)
	}
	if size := int64(proto.Size(request())); r.Spans() != 6 || r.Bytes() != size || r.Wire() <= size {
		t.Errorf("%d spans, %d bytes, %d on the wire; want 6, %d and more on the wire", r.Spans(), r.Bytes(), r.Wire(), size)
	}
}

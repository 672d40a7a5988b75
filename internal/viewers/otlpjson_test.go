package viewers_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/spanfuzz"
	"github.com/perfline/perfline/internal/viewers"
)

// encoded returns a request with those spans, and the OTLP request that package otlpenc makes of them.
func encoded(t *testing.T, spans tracetest.SpanStubs) (requests.Request, *tracepb.TracesData) {
	t.Helper()
	var groups otlpenc.Groups
	var all []otlpenc.Spans
	var q requests.Request
	for _, s := range spans.Snapshots() {
		groups.Encode(s, func(one otlpenc.Spans) {
			all = append(all, one.Clone())
			for decoded, err := range one.All() {
				if err != nil {
					t.Fatal(err)
				}
				q.Spans = append(q.Spans, &decoded)
			}
		})
	}
	q.Root = q.Spans[0]
	want := &tracepb.TracesData{}
	if err := proto.Unmarshal(otlpenc.AppendRequest(nil, all), want); err != nil {
		t.Fatal(err)
	}
	return q, want
}

// readOTLP reads a file by the rules of OTLP's JSON encoding. These are protojson's, but for the ids.
func readOTLP(t *testing.T, file []byte) *tracepb.TracesData {
	t.Helper()
	var tree any
	d := json.NewDecoder(bytes.NewReader(file))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		t.Fatalf("it is no JSON: %v\n%s", err, file)
	}
	withBase64IDs(t, tree)
	text, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	got := &tracepb.TracesData{}
	if err := protojson.Unmarshal(text, got); err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return got
}

// withBase64IDs replaces ids in hexadecimal digits. Enums must be numbers, and integers of 64 bits texts.
func withBase64IDs(t *testing.T, node any) {
	t.Helper()
	switch node := node.(type) {
	case []any:
		for _, e := range node {
			withBase64IDs(t, e)
		}
	case map[string]any:
		for name, v := range node {
			switch name {
			case "traceId", "spanId", "parentSpanId":
				text, _ := v.(string)
				id, err := hex.DecodeString(text)
				if err != nil || len(id) != 8 && len(id) != 16 {
					t.Errorf("%s is %v, want hexadecimal digits", name, v)
				}
				node[name] = base64.StdEncoding.EncodeToString(id)
			case "kind", "code":
				if _, ok := v.(json.Number); !ok {
					t.Errorf("%s is %v, want a number", name, v)
				}
			case "startTimeUnixNano", "endTimeUnixNano", "timeUnixNano", "intValue":
				if _, ok := v.(string); !ok {
					t.Errorf("%s is %v, want a text", name, v)
				}
			default:
				withBase64IDs(t, v)
			}
		}
	}
}

// checkOTLP compares the file of a request with OTLP's binary encoding of the same spans.
func checkOTLP(t *testing.T, spans tracetest.SpanStubs, repaired bool) {
	t.Helper()
	q, want := encoded(t, spans)
	var file bytes.Buffer
	if err := viewers.WriteRequestOTLP(&file, q); err != nil {
		t.Fatal(err)
	}
	got := readOTLP(t, file.Bytes())
	if repaired { // members of a map may have another order
		if g, w := proto.Size(got), proto.Size(want); g != w {
			t.Errorf("%d bytes, want %d", g, w)
		}
		return
	}
	spanfuzz.Equal(t, got, want)
	if g, w := len(got.GetResourceSpans()), len(want.GetResourceSpans()); g != w {
		t.Errorf("%d resources, want %d", g, w)
	}
	for i, r := range got.GetResourceSpans() {
		if g, w := len(r.GetScopeSpans()), len(want.GetResourceSpans()[i].GetScopeSpans()); g != w {
			t.Errorf("%d scopes, want %d", g, w)
		}
	}
}

func TestRequestOTLP(t *testing.T) {
	id := func(n byte) trace.SpanContext {
		return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{15: 0xab}, SpanID: trace.SpanID{7: n}, TraceFlags: 1})
	}
	deep := attribute.StringValue("innermost")
	for range 40 {
		deep = attribute.SliceValue(deep)
	}
	shop := resource.NewWithAttributes("https://schema", attribute.String("service.name", "shop\xff"))
	attrs := []attribute.KeyValue{
		attribute.Float64("nan", math.NaN()), attribute.Float64("inf", math.Inf(1)), attribute.Float64("-inf", math.Inf(-1)), attribute.Float64("f", 1e300),
		attribute.Int64("large", math.MaxInt64), attribute.Int64("least", math.MinInt64), attribute.Bool("yes", true), attribute.String("text", "a\xff<\u2028"),
		attribute.ByteSlice("bytes", []byte("\x00\xff\xfe")), attribute.ByteSlice("no bytes", nil), {Key: "empty"},
		attribute.StringSlice("texts", []string{"", "b"}), attribute.BoolSlice("bools", []bool{true, false}), attribute.Float64Slice("floats", []float64{0.5, math.NaN()}),
		{Key: "map", Value: attribute.MapValue(attribute.String("k", "v"), attribute.KeyValue{Key: "list", Value: attribute.SliceValue(attribute.Value{}, attribute.IntValue(1))})},
		{Key: "deep", Value: deep},
	}
	checkOTLP(t, tracetest.SpanStubs{
		{Name: "GET /", SpanContext: id(1), SpanKind: trace.SpanKindServer, StartTime: base, EndTime: base.Add(time.Second), Attributes: attrs, Resource: shop,
			InstrumentationScope: instrumentation.Scope{Name: "http", Version: "1", SchemaURL: "s", Attributes: attribute.NewSet(attribute.Int("n", 1))}, DroppedAttributes: 3},
		{Name: "query", SpanContext: id(2), Parent: id(1), SpanKind: trace.SpanKindClient, StartTime: base, EndTime: base, Resource: shop,
			Status: sdktrace.Status{Code: codes.Error, Description: "refused"}, DroppedEvents: 1, DroppedLinks: 2,
			Events: []sdktrace.Event{{Name: "e", Time: base, Attributes: attrs, DroppedAttributeCount: 7}, {}},
			Links:  []sdktrace.Link{{SpanContext: id(9), Attributes: attrs}, {}}},
		{Name: "other scope", SpanContext: id(3), Parent: id(1).WithRemote(true), Resource: shop, Status: sdktrace.Status{Code: codes.Ok}},
		{Name: "other resource", SpanContext: id(4), Resource: resource.Empty()},
		{},
	}, false)
}

// Any spans are the same in the file as in OTLP's binary encoding.
func FuzzRequestOTLP(f *testing.F) {
	f.Add([]byte{})
	source := rand.New(rand.NewPCG(1, 2))
	for n := range 30 {
		seed := make([]byte, 1+n*n*4)
		for i := range seed {
			seed[i] = byte(source.Uint32())
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &spanfuzz.Source{Data: data, MaxDepth: 40}
		var spans tracetest.SpanStubs
		attributes := func() []attribute.KeyValue { return r.Attributes(0) }
		for range 1 + r.Below(5) {
			s := tracetest.SpanStub{
				Name: r.Text(), SpanContext: r.Context(), Parent: r.Context(), SpanKind: trace.SpanKind(r.Below(7)), StartTime: r.Time(), EndTime: r.Time(),
				Attributes: attributes(), DroppedAttributes: int(r.Number()), DroppedEvents: int(r.Number()), DroppedLinks: int(r.Number()),
				Status:               sdktrace.Status{Code: codes.Code(r.Below(4)), Description: r.Text()},
				InstrumentationScope: instrumentation.Scope{Name: r.Text(), Version: r.Text(), SchemaURL: r.Text()},
			}
			s.Events = spanfuzz.List(r, func() sdktrace.Event {
				return sdktrace.Event{Name: r.Text(), Time: r.Time(), Attributes: attributes(), DroppedAttributeCount: int(r.Number())}
			})
			s.Links = spanfuzz.List(r, func() sdktrace.Link { return sdktrace.Link{SpanContext: r.Context(), Attributes: attributes()} })
			if r.Below(2) == 1 {
				s.Resource = resource.NewWithAttributes(r.Text(), attributes()...)
			}
			spans = append(spans, s)
		}
		checkOTLP(t, spans, r.Repaired)
	})
}

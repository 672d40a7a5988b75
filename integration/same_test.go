package integration

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/integration/backend"
)

// TestSameAsSDK sends spans through OpenTelemetry's exporters, and the same through exporter.NewDelivery, as they are and made
// by perfline's own provider. The backends must have the same of all.
func TestSameAsSDK(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now().Truncate(time.Second).Add(123_456_789)
	collected := newSink(t)
	certificate, key := selfSigned(t)
	plain := ownCollector(ctx, t, backend.CollectorConfig{Jaeger: collected.address})
	secured := ownCollector(ctx, t, backend.CollectorConfig{Jaeger: collected.address, Certificate: certificate, Key: key})
	type endpoints map[string]string // by protocol
	for _, b := range []struct {
		name        string
		endpoints   endpoints
		certificate string
		has         func(context.Context, trace.TraceID) (*tracepb.TracesData, error)
	}{
		{"Jaeger", endpoints{"grpc": jaeger.OTLPGRPC(), "http/protobuf": jaeger.OTLPHTTP()}, "", jaeger.Trace},
		{"Collector", endpoints{"grpc": plain.OTLPGRPC(), "http/protobuf": plain.OTLPHTTP()}, "", collected.trace},
		{"Collector by TLS", endpoints{"grpc": secured.OTLPGRPC(), "http/protobuf": secured.OTLPHTTP()}, certificate, collected.trace},
	} {
		for protocol, endpoint := range b.endpoints {
			for _, compression := range []string{"none", "gzip"} {
				t.Run(fmt.Sprintf("%s, %s, %s", b.name, protocol, compression), func(t *testing.T) {
					t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
					t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
					t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", compression)
					t.Setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", b.certificate)
					received := func(send func(context.Context, *testing.T, string, []sdktrace.ReadOnlySpan)) []*tracepb.ResourceSpans {
						var id trace.TraceID
						_, _ = rand.Read(id[:]) // never fails
						spans := allKinds(t, id, began)
						send(ctx, t, protocol, spans)
						var all []*tracepb.ResourceSpans
						if err := backend.Poll(ctx, func() (bool, error) {
							data, err := b.has(ctx, id)
							all = single(data)
							return len(all) >= len(spans), err
						}); err != nil {
							t.Fatalf("%d of %d spans: %v", len(all), len(spans), err)
						}
						return all
					}
					want := received(bySDK)
					for _, one := range want { // the SDK's exporter leaves out the trace states of links
						for _, l := range one.GetScopeSpans()[0].GetSpans()[0].GetLinks() {
							l.TraceState = traceState
						}
					}
					for name, got := range map[string][]*tracepb.ResourceSpans{"SDK": received(byDelivery), "perfline": received(byOwnProvider)} {
						if len(got) != len(want) {
							t.Fatalf("%s: %d spans, want %d", name, len(got), len(want))
						}
						for i := range want {
							if !proto.Equal(got[i], want[i]) {
								t.Errorf("%s: got  %v\nwant %v", name, got[i], want[i])
							}
						}
					}
				})
			}
		}
	}
}

// traceState is the trace state of a span and of links.
const traceState = "vendor=1,other@tenant=x:y"

func bySDK(ctx context.Context, t *testing.T, protocol string, spans []sdktrace.ReadOnlySpan) {
	t.Helper()
	var sdk *otlptrace.Exporter
	var err error
	if protocol == "grpc" {
		sdk, err = otlptracegrpc.New(ctx)
	} else {
		sdk, err = otlptracehttp.New(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := sdk.ExportSpans(ctx, spans); err != nil {
		t.Error(err)
	}
	if err := sdk.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func byDelivery(ctx context.Context, t *testing.T, _ string, spans []sdktrace.ReadOnlySpan) {
	t.Helper()
	d, err := exporter.NewDelivery(exporter.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spans {
		d.OnEnd(s)
	}
	if err := d.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if s := d.Stats(); s.Delivered != uint64(len(spans)) || s.Accepted != s.Delivered {
		t.Errorf("the books of %d spans: %+v", len(spans), s)
	}
}

// allKinds returns spans that have, together, all that a span can have. Their names differ.
func allKinds(t *testing.T, id trace.TraceID, began time.Time) []sdktrace.ReadOnlySpan {
	t.Helper()
	state, err := trace.ParseTraceState(traceState)
	if err != nil {
		t.Fatal(err)
	}
	attributes := []attribute.KeyValue{
		attribute.String("text", "größer ✓"), attribute.String("no text", ""), attribute.Bool("true", true), attribute.Bool("false", false),
		attribute.Int64("integer", -1<<63), attribute.Int("zero", 0), attribute.Float64("float", -.25), attribute.ByteSlice("bytes", []byte{0, 0xff}),
		attribute.StringSlice("texts", []string{"a", "", "b"}), attribute.BoolSlice("booleans", []bool{true, false}),
		attribute.Int64Slice("integers", []int64{1, -2, 1 << 60}), attribute.Float64Slice("floats", []float64{1.5, 0}), attribute.StringSlice("none", nil),
		attribute.Slice("list", attribute.IntValue(1), attribute.StringValue("x"), attribute.SliceValue(attribute.BoolValue(true))),
		attribute.Map("map", attribute.Int("a", 1), attribute.Map("b", attribute.String("c", "d"))),
	}
	number := byte(0)
	sampled := func(change func(*trace.SpanContextConfig)) trace.SpanContext {
		number++
		c := trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{1, number}, TraceFlags: trace.FlagsSampled}
		if change != nil {
			change(&c)
		}
		return trace.NewSpanContext(c)
	}
	elsewhere := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{7}, SpanID: trace.SpanID{8}, TraceState: state, Remote: true})
	withState := func(c *trace.SpanContextConfig) { c.TraceState = state }
	shop := resource.NewWithAttributes("https://opentelemetry.io/schemas/1.37.0", append(attributes, attribute.String("service.name", t.Name()))...)
	plain := instrumentation.Scope{Name: "plain"}
	full := instrumentation.Scope{Name: "full", Version: "1.2.3", SchemaURL: "https://opentelemetry.io/schemas/1.30.0", Attributes: attribute.NewSet(attributes...)}
	stubs := tracetest.SpanStubs{
		{Name: "root", SpanKind: trace.SpanKindServer},
		{Name: "remote parent", SpanKind: trace.SpanKindConsumer, SpanContext: sampled(withState), Parent: sampled(func(c *trace.SpanContextConfig) { c.Remote = true })},
		{Name: "local parent", SpanKind: trace.SpanKindInternal, Parent: sampled(nil)},
		{Name: "client", SpanKind: trace.SpanKindClient, Status: sdktrace.Status{Code: codes.Error, Description: "deadline exceeded"}},
		{Name: "producer", SpanKind: trace.SpanKindProducer, Status: sdktrace.Status{Code: codes.Ok}},
		{Name: "random", SpanContext: sampled(func(c *trace.SpanContextConfig) { c.TraceFlags |= 2 })},
		{Name: "attributes", Attributes: attributes, DroppedAttributes: 3},
		{Name: "events", DroppedEvents: 4, Events: []sdktrace.Event{{Name: "first", Time: began.Add(1)}, {Name: "second", Time: began.Add(2), Attributes: attributes, DroppedAttributeCount: 5}}},
		{Name: "links", DroppedLinks: 6, Links: []sdktrace.Link{{SpanContext: elsewhere}, {SpanContext: elsewhere, Attributes: attributes, DroppedAttributeCount: 7}}},
		{Name: "full scope", InstrumentationScope: full},
		{Name: "full scope again", InstrumentationScope: full},
		{Name: "other resource", Resource: resource.NewSchemaless(attribute.String("service.name", t.Name()+" other"))},
	}
	for i := range stubs {
		s := &stubs[i]
		if !s.SpanContext.IsValid() {
			s.SpanContext = sampled(nil)
		}
		s.StartTime, s.EndTime = began, began.Add(1_000_001)
		s.Resource = cmp.Or(s.Resource, shop)
		s.SpanKind = trace.ValidateSpanKind(s.SpanKind)
		if s.InstrumentationScope.Name == "" {
			s.InstrumentationScope = plain
		}
	}
	return stubs.Snapshots()
}

// single returns the spans by name, each with its resource and scope, without the ID of the trace.
func single(data *tracepb.TracesData) (all []*tracepb.ResourceSpans) {
	for _, rs := range data.GetResourceSpans() {
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				s.TraceId = nil
				all = append(all, &tracepb.ResourceSpans{Resource: rs.GetResource(), SchemaUrl: rs.GetSchemaUrl(),
					ScopeSpans: []*tracepb.ScopeSpans{{Scope: ss.GetScope(), SchemaUrl: ss.GetSchemaUrl(), Spans: []*tracepb.Span{s}}}})
			}
		}
	}
	name := func(r *tracepb.ResourceSpans) string { return r.GetScopeSpans()[0].GetSpans()[0].GetName() }
	slices.SortFunc(all, func(a, b *tracepb.ResourceSpans) int { return cmp.Compare(name(a), name(b)) })
	return all
}

// A sink takes spans over gRPC and keeps them.
type sink struct {
	coltracepb.UnimplementedTraceServiceServer
	address string

	mu   sync.Mutex
	sent []*tracepb.ResourceSpans
}

func newSink(t *testing.T) *sink {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{address: l.Addr().String()}
	server := grpc.NewServer()
	coltracepb.RegisterTraceServiceServer(server, s)
	go func() { _ = server.Serve(l) }() // until Stop
	t.Cleanup(server.Stop)
	return s
}

func (s *sink) Export(_ context.Context, q *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, q.GetResourceSpans()...)
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

// trace returns the spans of a trace.
func (s *sink) trace(_ context.Context, id trace.TraceID) (*tracepb.TracesData, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data := &tracepb.TracesData{}
	for _, rs := range s.sent {
		rs = proto.CloneOf(rs)
		for _, ss := range rs.GetScopeSpans() {
			ss.Spans = slices.DeleteFunc(ss.GetSpans(), func(s *tracepb.Span) bool { return trace.TraceID(s.GetTraceId()) != id })
		}
		data.ResourceSpans = append(data.ResourceSpans, rs)
	}
	return data, nil
}

// selfSigned returns the files of a certificate for 127.0.0.1 and of its key.
func selfSigned(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return file("certificate.pem", "CERTIFICATE", public), file("key.pem", "PRIVATE KEY", secret)
}

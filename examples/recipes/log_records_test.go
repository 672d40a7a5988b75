package recipes_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	collogs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	coltrace "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/examples/recipes"
	"github.com/perfline/perfline/exporter"
)

// An otlpReceiver takes spans and log records, over gRPC and over HTTP.
type otlpReceiver struct {
	coltrace.UnimplementedTraceServiceServer

	mu     sync.Mutex // guards what follows
	spans  []*coltrace.ExportTraceServiceRequest
	logged []*collogs.ExportLogsServiceRequest
}

// logsService has the name Export, too.
type logsService struct {
	collogs.UnimplementedLogsServiceServer

	r *otlpReceiver
}

func (r *otlpReceiver) Export(_ context.Context, request *coltrace.ExportTraceServiceRequest) (*coltrace.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, request)
	return &coltrace.ExportTraceServiceResponse{}, nil
}

func (s logsService) Export(_ context.Context, request *collogs.ExportLogsServiceRequest) (*collogs.ExportLogsServiceResponse, error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.logged = append(s.r.logged, request)
	return &collogs.ExportLogsServiceResponse{}, nil
}

func (r *otlpReceiver) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var spans coltrace.ExportTraceServiceRequest
	var logged collogs.ExportLogsServiceRequest
	switch q.URL.Path {
	case "/v1/traces":
		if err = proto.Unmarshal(body, &spans); err == nil {
			_, err = r.Export(q.Context(), &spans)
		}
	case "/v1/logs":
		if err = proto.Unmarshal(body, &logged); err == nil {
			_, err = logsService{r: r}.Export(q.Context(), &logged)
		}
	default:
		http.NotFound(w, q)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

// receive starts a receiver for a protocol, and returns its endpoint.
func receive(t *testing.T, protocol string) (*otlpReceiver, string) {
	t.Helper()
	r := &otlpReceiver{}
	if protocol == "http/protobuf" {
		s := httptest.NewServer(r)
		t.Cleanup(s.Close)
		return r, s.URL
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	coltrace.RegisterTraceServiceServer(s, r)
	collogs.RegisterLogsServiceServer(s, logsService{r: r})
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() {
		s.Stop()
		serving.Wait()
	})
	return r, "http://" + l.Addr().String()
}

// A record of slog arrives over OTLP once, with all that it has, and as a line. A warning is a mark, once.
func TestLogRecords(t *testing.T) {
	for _, protocol := range []string{"grpc", "http/protobuf"} {
		t.Run(protocol, func(t *testing.T) { testLogRecords(t, protocol) })
	}
}

func testLogRecords(t *testing.T, protocol string) {
	t.Helper()
	receiver, endpoint := receive(t, protocol)
	before, meters, propagator := otel.GetTracerProvider(), otel.GetMeterProvider(), otel.GetTextMapPropagator()
	t.Cleanup(func() {
		otel.SetTracerProvider(before)
		otel.SetMeterProvider(meters)
		otel.SetTextMapPropagator(propagator)
	})
	to := exporter.Config{Endpoint: endpoint, Protocol: protocol}
	pl, err := perfline.Start(t.Context(), perfline.Config{Service: "shop", Traces: to, Logs: to, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	log := recipes.NewLogger(pl, slog.NewTextHandler(&lines, nil))
	ctx, span := pl.TracerProvider().Tracer("t").Start(t.Context(), "request")
	began := time.Now()
	log.With("cart", 7).WithGroup("item").WarnContext(ctx, "retry", "sku", "socks", slog.Group("of", "n", 3))
	log.InfoContext(ctx, "paid", "total", 12.5, "took", time.Second)
	log.DebugContext(ctx, "below the level")
	log.Error("without a span", "error", io.ErrUnexpectedEOF)
	ended := time.Now()
	span.End()
	if err := pl.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	tid, sid := span.SpanContext().TraceID(), span.SpanContext().SpanID()
	want := map[string][]*logspb.LogRecord{ // by scope
		"shop": {
			{
				Body: textValue("retry"), SeverityNumber: logspb.SeverityNumber_SEVERITY_NUMBER_WARN, SeverityText: "WARN", TraceId: tid[:], SpanId: sid[:], Flags: 3,
				Attributes: []*commonpb.KeyValue{{Key: "cart", Value: intValue(7)}, {Key: "item", Value: mapValue(
					&commonpb.KeyValue{Key: "of", Value: mapValue(&commonpb.KeyValue{Key: "n", Value: intValue(3)})}, &commonpb.KeyValue{Key: "sku", Value: textValue("socks")})}},
			},
			{
				Body: textValue("paid"), SeverityNumber: logspb.SeverityNumber_SEVERITY_NUMBER_INFO, SeverityText: "INFO", TraceId: tid[:], SpanId: sid[:], Flags: 3,
				Attributes: []*commonpb.KeyValue{
					{Key: "total", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_DoubleValue{DoubleValue: 12.5}}}, {Key: "took", Value: intValue(int64(time.Second))},
				},
			},
			{
				Body: textValue("without a span"), SeverityNumber: logspb.SeverityNumber_SEVERITY_NUMBER_ERROR, SeverityText: "ERROR",
				Attributes: []*commonpb.KeyValue{{Key: "exception.message", Value: textValue("unexpected EOF")}, {Key: "exception.type", Value: textValue("*errors.errorString")}},
			},
		},
		"github.com/perfline/perfline": {{ // a mark that is no span event
			EventName: "without a span", Attributes: []*commonpb.KeyValue{{Key: "level", Value: textValue("ERROR")}, {Key: "error", Value: textValue("unexpected EOF")}},
		}},
	}
	got := map[string][]*logspb.LogRecord{}
	for _, request := range receiver.logged {
		for _, rl := range request.GetResourceLogs() {
			if !slices.ContainsFunc(rl.GetResource().GetAttributes(), func(kv *commonpb.KeyValue) bool {
				return kv.GetKey() == "service.name" && kv.GetValue().GetStringValue() == "shop"
			}) {
				t.Errorf("a resource is %v, want shop", rl.GetResource())
			}
			for _, sl := range rl.GetScopeLogs() {
				for _, r := range sl.GetLogRecords() {
					for _, at := range []uint64{r.GetTimeUnixNano(), r.GetObservedTimeUnixNano()} {
						if r.GetEventName() == "" && (at < uint64(began.UnixNano()) || at > uint64(ended.UnixNano())) {
							t.Errorf("a time of %v is not within %v and %v", r, began, ended)
						}
					}
					r.TimeUnixNano, r.ObservedTimeUnixNano = 0, 0
					got[sl.GetScope().GetName()] = append(got[sl.GetScope().GetName()], r)
				}
			}
		}
	}
	for scope := range want {
		if !slices.EqualFunc(got[scope], want[scope], func(a, b *logspb.LogRecord) bool { return proto.Equal(a, b) }) {
			t.Errorf("records of %s are\n%v, want\n%v", scope, got[scope], want[scope])
		}
	}
	if len(got) != len(want) {
		t.Errorf("records have %d scopes, want %d: %v", len(got), len(want), got)
	}
	var events []string
	for _, request := range receiver.spans {
		for _, rs := range request.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					for _, e := range s.GetEvents() {
						events = append(events, s.GetName()+": "+e.GetName())
					}
				}
			}
		}
	}
	if !slices.Equal(events, []string{"request: retry"}) {
		t.Errorf("span events are %q, want the mark once", events)
	}
	ids := " trace_id=" + tid.String() + " span_id=" + sid.String()
	for i, line := range strings.Split(strings.TrimSpace(lines.String()), "\n") {
		_, line, _ = strings.Cut(line, " msg=")
		if want := []string{"retry cart=7 item.sku=socks item.of.n=3" + ids, "paid total=12.5 took=1s" + ids, `"without a span" error="unexpected EOF"`}[i]; line != want {
			t.Errorf("line %d is %q, want %q", i, line, want)
		}
	}
}

func textValue(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

func intValue(n int64) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_IntValue{IntValue: n}}
}

func mapValue(all ...*commonpb.KeyValue) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{Values: all}}}
}

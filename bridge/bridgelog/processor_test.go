package bridgelog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/otlpenc"
)

// An output keeps the records that it is given, as a request.
type output struct {
	mu      sync.Mutex
	request []byte
	count   int
	flushes int
	closed  bool
	err     error // of ForceFlush
}

func (o *output) AcceptLogs(r bridge.Records) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.request = otlpenc.AppendRequest(o.request, []otlpenc.Records{otlpenc.Records(r)})
	o.count += r.Count
}

func (o *output) ForceFlush(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.flushes++
	return o.err
}

func (o *output) Shutdown(context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	return nil
}

// decoded returns each record with its resource and scope.
func (o *output) decoded(t *testing.T) []*logspb.ResourceLogs {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	var request logspb.LogsData
	if err := proto.Unmarshal(o.request, &request); err != nil {
		t.Fatal(err)
	}
	if len(request.GetResourceLogs()) != o.count {
		t.Fatalf("%d records, want %d", len(request.GetResourceLogs()), o.count)
	}
	return request.GetResourceLogs()
}

// bodies returns the bodies of the records, which are texts, in order.
func (o *output) bodies(t *testing.T) string {
	t.Helper()
	var all []string
	for _, r := range o.decoded(t) {
		all = append(all, r.GetScopeLogs()[0].GetLogRecords()[0].GetBody().GetStringValue())
	}
	return strings.Join(all, " ")
}

func text(key, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: key, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: value}}}
}

// A record arrives with all that it has.
func TestRecord(t *testing.T) {
	res := resource.NewWithAttributes("https://schema/resource", attribute.String("service.name", "shop"))
	full := event("order.accepted", attribute.String("sku", "socks"), attribute.Map("of", attribute.Bool("in", true)))
	var filled log.Record
	filled.SetObservedTimestamp(observed)
	for _, c := range []struct {
		name   string
		ctx    context.Context
		record log.Record
		want   *logspb.LogRecord
	}{
		{
			"all fields", trace.ContextWithRemoteSpanContext(t.Context(), foreign), full,
			&logspb.LogRecord{
				TimeUnixNano: uint64(moment.UnixNano()), ObservedTimeUnixNano: uint64(observed.UnixNano()),
				SeverityNumber: logspb.SeverityNumber_SEVERITY_NUMBER_INFO, SeverityText: "INFO", EventName: "order.accepted",
				Body: text("", "body").GetValue(),
				Attributes: []*commonpb.KeyValue{text("sku", "socks"), {Key: "of", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_KvlistValue{KvlistValue: &commonpb.KeyValueList{
					Values: []*commonpb.KeyValue{{Key: "in", Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_BoolValue{BoolValue: true}}}},
				}}}}},
				TraceId: []byte{1, 15: 0}, SpanId: []byte{2, 7: 0}, Flags: 1,
			},
		},
		{"almost nothing", t.Context(), filled, &logspb.LogRecord{ObservedTimeUnixNano: uint64(observed.UnixNano())}},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := new(output)
			l := sdklog.NewLoggerProvider(sdklog.WithResource(res), sdklog.WithProcessor(bridgelog.NewProcessor(out, nil))).
				Logger("shop", log.WithInstrumentationVersion("v1"), log.WithSchemaURL("https://schema/scope"))
			l.Emit(c.ctx, c.record)
			got := out.decoded(t)
			if len(got) != 1 {
				t.Fatalf("%d records, want 1", len(got))
			}
			scope := got[0].GetScopeLogs()[0]
			if !proto.Equal(scope.GetLogRecords()[0], c.want) {
				t.Errorf("the record is\n%v, want\n%v", scope.GetLogRecords()[0], c.want)
			}
			if s := scope.GetScope(); s.GetName() != "shop" || s.GetVersion() != "v1" || scope.GetSchemaUrl() != "https://schema/scope" {
				t.Errorf("the scope is %v of %q", s, scope.GetSchemaUrl())
			}
			if attrs := got[0].GetResource().GetAttributes(); !slices.ContainsFunc(attrs, func(kv *commonpb.KeyValue) bool { return proto.Equal(kv, text("service.name", "shop")) }) {
				t.Errorf("the resource is %v, want shop", attrs)
			}
		})
	}
}

// Attributes over the provider's limit are counted.
func TestDroppedAttributes(t *testing.T) {
	out := new(output)
	l := sdklog.NewLoggerProvider(sdklog.WithAttributeCountLimit(1), sdklog.WithProcessor(bridgelog.NewProcessor(out, nil))).Logger("test")
	l.Emit(t.Context(), event("", attribute.Int("a", 1), attribute.Int("b", 2), attribute.Int("c", 3)))
	r := out.decoded(t)[0].GetScopeLogs()[0].GetLogRecords()[0]
	if r.GetDroppedAttributesCount() != 2 || len(r.GetAttributes()) != 1 {
		t.Errorf("%d attributes, and %d dropped; want 1 and 2", len(r.GetAttributes()), r.GetDroppedAttributesCount())
	}
}

// Records below the level are not delivered, and loggers are not enabled for them.
func TestLevel(t *testing.T) {
	var changing slog.LevelVar
	changing.Set(slog.LevelError)
	for _, c := range []struct {
		name     string
		level    slog.Leveler
		severity log.Severity
		want     logspb.SeverityNumber // -1: not delivered
	}{
		{"Info by default: debug", nil, log.SeverityDebug4, -1},
		{"Info by default: info", nil, log.SeverityInfo, 9},
		{"Info by default: no severity", nil, log.SeverityUndefined, 0},
		{"Warn: info", slog.LevelWarn, log.SeverityInfo4, -1},
		{"Warn: warn", slog.LevelWarn, log.SeverityWarn1, 13},
		{"Debug: debug", slog.LevelDebug, log.SeverityDebug, 5},
		{"Debug: trace", slog.LevelDebug, log.SeverityTrace4, -1},
		{"the lowest: trace", slog.Level(-100), log.SeverityTrace1, 1},
		{"the lowest: below all severities", slog.Level(-100), log.Severity(-3), 0},
		{"a LevelVar", &changing, log.SeverityWarn4, -1},
		{"above all severities", nil, log.Severity(99), 24},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := new(output)
			l := sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewProcessor(out, c.level))).Logger("test")
			if got := l.Enabled(t.Context(), log.EnabledParameters{Severity: c.severity}); got != (c.want >= 0) {
				t.Errorf("Enabled is %t", got)
			}
			var r log.Record
			r.SetSeverity(c.severity)
			l.Emit(t.Context(), r)
			got := logspb.SeverityNumber(-1)
			if all := out.decoded(t); len(all) > 0 {
				got = all[0].GetScopeLogs()[0].GetLogRecords()[0].GetSeverityNumber()
			}
			if got != c.want {
				t.Errorf("severity is %d, want %d", got, c.want)
			}
		})
	}
}

// A Level that changes counts at once.
func TestLevelChanges(t *testing.T) {
	out := new(output)
	var level slog.LevelVar
	l := sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewProcessor(out, &level))).Logger("test")
	for i, at := range []slog.Level{slog.LevelInfo, slog.LevelWarn, slog.LevelInfo} {
		level.Set(at)
		r := event("")
		r.SetBody(attribute.StringValue(fmt.Sprint(i)))
		l.Emit(t.Context(), r)
	}
	if got := out.bodies(t); got != "0 2" {
		t.Errorf("records %q arrived, want 0 2", got)
	}
}

// ForceFlush and Shutdown deliver. The output stays open for others.
func TestFlush(t *testing.T) {
	failed := errors.New("failed")
	out := &output{err: failed}
	logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewProcessor(out, nil)))
	if err := logs.ForceFlush(t.Context()); !errors.Is(err, failed) || out.flushes != 1 {
		t.Errorf("ForceFlush: %v after %d flushes, want %v after 1", err, out.flushes, failed)
	}
	if err := logs.Shutdown(t.Context()); !errors.Is(err, failed) || out.flushes != 2 {
		t.Errorf("Shutdown: %v after %d flushes, want %v after 2", err, out.flushes, failed)
	}
	logs.Logger("test").Emit(t.Context(), event("late"))
	if out.count != 0 || out.closed {
		t.Errorf("after Shutdown, the output has %d records, and closed is %t; want none and false", out.count, out.closed)
	}
}

// Goroutines share the memory of records, but no record has a part of another.
func TestRecordsAreApart(t *testing.T) {
	const goroutines, each = 8, 50
	out := new(output)
	l := sdklog.NewLoggerProvider(sdklog.WithProcessor(bridgelog.NewProcessor(out, nil))).Logger("test")
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := range each {
				name := fmt.Sprintf("%d.%d%s", g, i, strings.Repeat("x", i))
				r := event(name, attribute.String("name", name), attribute.StringSlice("names", []string{name, name}))
				r.SetBody(attribute.StringValue(name))
				l.Emit(t.Context(), r)
			}
		})
	}
	all.Wait()
	seen := map[string]bool{}
	for _, r := range out.decoded(t) {
		record := r.GetScopeLogs()[0].GetLogRecords()[0]
		name := record.GetEventName()
		names := record.GetAttributes()[1].GetValue().GetArrayValue().GetValues()
		if seen[name] || record.GetBody().GetStringValue() != name || !proto.Equal(record.GetAttributes()[0], text("name", name)) || names[1].GetStringValue() != name {
			t.Fatalf("a record came twice, or is mixed with another: %v", record)
		}
		seen[name] = true
	}
	if len(seen) != goroutines*each {
		t.Errorf("%d records, want %d", len(seen), goroutines*each)
	}
}

// A pipeline is what NewLoggerProvider needs of perfline.Pipeline.
type pipeline struct{ logs bridge.LogOutput }

func (p pipeline) Logs() bridge.LogOutput { return p.logs }
func (pipeline) Resource() *resource.Resource {
	return resource.NewSchemaless(attribute.String("service.name", "shop"))
}

// A sender keeps the requests of a delivery.
type sender struct {
	mu       sync.Mutex
	requests [][]byte
}

func (s *sender) Send(_ context.Context, body []byte) exporter.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, slices.Clone(body))
	return exporter.Answer{}
}

// The pipeline's records reach its receiver. The pipeline runs on after the provider's Shutdown.
func TestLoggerProvider(t *testing.T) {
	var to sender
	d, err := exporter.NewLogDelivery(exporter.Config{Sender: &to})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second"} {
		logs := bridgelog.NewLoggerProvider(pipeline{d}, nil)
		r := event(name)
		logs.Logger("test").Emit(t.Context(), r)
		r.SetSeverity(log.SeverityDebug)
		logs.Logger("test").Emit(t.Context(), r)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := logs.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, body := range to.requests {
		var request logspb.LogsData
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		for _, r := range request.GetResourceLogs() {
			for _, kv := range r.GetResource().GetAttributes() {
				if kv.GetKey() == "service.name" {
					got = append(got, kv.GetValue().GetStringValue()+" "+r.GetScopeLogs()[0].GetLogRecords()[0].GetEventName())
				}
			}
		}
	}
	if want := []string{"shop first", "shop second"}; !slices.Equal(got, want) {
		t.Errorf("%q arrived, want %q", got, want)
	}
	if err := d.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); s.Accepted != 2 || s.Delivered != 2 {
		t.Errorf("books are %+v, want 2 delivered", s)
	}
}

// Loggers of a pipeline that exports no log records are disabled, so that nothing is made for them.
func TestNoLogs(t *testing.T) {
	logs := bridgelog.NewLoggerProvider(pipeline{}, slog.LevelDebug)
	if l := logs.Logger("test"); l.Enabled(t.Context(), log.EnabledParameters{Severity: log.SeverityError}) {
		t.Error("a logger is enabled")
	}
	if err := errors.Join(logs.ForceFlush(t.Context()), logs.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
}

// Logs of a pipeline that exports no log records is nil. A processor of it does nothing.
func TestProcessorWithoutOutput(t *testing.T) {
	p := bridgelog.NewProcessor(nil, nil)
	logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(p))
	var r log.Record
	r.SetSeverity(log.SeverityError)
	l := logs.Logger("test")
	l.Emit(t.Context(), r)
	if l.Enabled(t.Context(), log.EnabledParameters{Severity: log.SeverityError}) {
		t.Error("the logger is enabled")
	}
	if err := errors.Join(logs.ForceFlush(t.Context()), logs.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
}

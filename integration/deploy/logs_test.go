package deploy

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	collogspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/integration/backend"
)

// TestLogRecords sends log records through the Collector, with its file, to VictoriaLogs, which has
// each with its event's name in an attribute and as its body. It has those that were sent while it
// was away once, and those that were sent twice twice. The links between data sources name the
// fields that the records have.
func TestLogRecords(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute) // the first build of the Collector takes minutes
	defer cancel()
	store := startLogs(ctx, t)
	collector, err := backend.StartCollector(ctx, backend.CollectorConfig{Jaeger: "127.0.0.1:1", Logs: store.OTLPHTTP()})
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, "collector", collector)

	const traceID, spanID = "0102030405060708090a0b0c0d0e0f10", "1112131415161718"
	ids := func(r *logspb.LogRecord) *logspb.LogRecord {
		for _, id := range []struct {
			to  *[]byte
			hex string
		}{{&r.TraceId, traceID}, {&r.SpanId, spanID}} {
			if _, err := fmt.Sscanf(id.hex, "%x", id.to); err != nil {
				t.Fatal(err)
			}
		}
		return r
	}
	now := time.Now().UTC()
	resource := backend.Record{
		"service.name": "probe", "service.namespace": "tests", "service.instance.id": "one",
		"scope.name": "perfline", "scope.version": "unknown",
	}
	unspecified := backend.Record{"severity_number": "0", "severity_text": "Unspecified"} // of records without a severity
	traced := backend.Record{"trace_id": traceID, "span_id": spanID}
	for i, c := range []struct {
		name   string
		record *logspb.LogRecord
		fields []backend.Record
	}{
		{"an event", ids(&logspb.LogRecord{EventName: "order.paid", Attributes: []*commonpb.KeyValue{text("payment", "card")}}), []backend.Record{
			unspecified, traced, {"_msg": "order.paid", "event_name": "order.paid", "event.name": "order.paid", "payment": "card"},
		}},
		{"an event with a body", ids(&logspb.LogRecord{EventName: "order.shipped", Body: textValue("to the harbour")}), []backend.Record{
			unspecified, traced, {"_msg": "to the harbour", "event_name": "order.shipped", "event.name": "order.shipped"},
		}},
		{"an event under no span", &logspb.LogRecord{EventName: "cache.flushed"}, []backend.Record{
			unspecified, {"_msg": "cache.flushed", "event_name": "cache.flushed", "event.name": "cache.flushed"},
		}},
		{"a line of a log", &logspb.LogRecord{
			Body: textValue("disk is slow"), SeverityNumber: logspb.SeverityNumber_SEVERITY_NUMBER_WARN, SeverityText: "WARN",
		}, []backend.Record{{"_msg": "disk is slow", "severity_number": "13", "severity_text": "WARN"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := now.Add(time.Duration(i) * time.Microsecond)
			c.record.TimeUnixNano = uint64(at.UnixNano())
			sendLogs(ctx, t, collector, c.record)
			sendLogs(ctx, t, collector, c.record)
			want := maps.Clone(resource)
			want["_time"] = at.Format(time.RFC3339Nano)
			for _, f := range c.fields {
				maps.Copy(want, f)
			}
			for _, got := range waitForRecords(ctx, t, store, fmt.Sprintf("{service.name=%q} %q", "probe", want["_msg"]), 2) {
				maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, "_stream") })
				if !maps.Equal(got, want) {
					t.Errorf("VictoriaLogs has %v, want %v", got, want)
				}
			}
			waitForRecords(ctx, t, store, fmt.Sprintf("{service.name=%q} %q | uniq by (_time, _stream_id)", "probe", want["_msg"]), 1)
		})
	}

	all := sources(t)
	query := logsOf(all["tempo"], "probe", traceID)
	if want := fmt.Sprintf("{service_name=%q} | trace_id=%q", "probe", traceID); query != want {
		t.Fatalf("the link from a span asks Loki %s, want %s", query, want)
	}
	for _, r := range waitForRecords(ctx, t, store, ofTrace("probe", traceID), 4) {
		found := 0
		for _, f := range links(all["loki"].JSONData["derivedFields"]) {
			name := fmt.Sprint(f["matcherRegex"])
			if f["matcherType"] != "label" || r[name] != traceID {
				t.Errorf("the link %v reads %q of %v, want the trace id", f, r[name], r)
			}
			found++
		}
		if found != 1 {
			t.Errorf("a record leads to traces by %d fields, want one", found)
		}
	}

	if err := store.Terminate(); err != nil {
		t.Fatal(err)
	}
	sendLogs(ctx, t, collector, &logspb.LogRecord{TimeUnixNano: uint64(time.Now().UnixNano()), EventName: "while.away"})
	if err := store.Start(ctx); err != nil {
		t.Fatal(err)
	}
	waitForRecords(ctx, t, store, `{service.name="probe"} event_name:="while.away"`, 1)
}

// startLogs starts a VictoriaLogs until the end of the test.
func startLogs(ctx context.Context, t *testing.T) *backend.VictoriaLogs {
	t.Helper()
	store, err := backend.StartVictoriaLogs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, "victorialogs", store)
	return store
}

// logsOf is the query of a data source's link from a span to the log records of its trace, as
// Grafana asks it.
func logsOf(from source, service, traceID string) string {
	link, _ := from.JSONData["tracesToLogsV2"].(map[string]any)
	var labels []string
	for _, tag := range links(link["tags"]) {
		if tag["key"] == "service.name" {
			labels = append(labels, fmt.Sprintf("%s=%q", tag["value"], service))
		}
	}
	return strings.NewReplacer("$${__tags}", strings.Join(labels, ","), "$${__trace.traceId}", traceID).Replace(fmt.Sprint(link["query"]))
}

// ofTrace is the same query to VictoriaLogs.
func ofTrace(service, traceID string) string {
	return fmt.Sprintf("{service.name=%q} trace_id:=%q", service, traceID)
}

// waitForRecords waits for as many records as a query must select.
func waitForRecords(ctx context.Context, t *testing.T, store *backend.VictoriaLogs, query string, want int) []backend.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var records []backend.Record
	err := backend.Poll(ctx, func() (bool, error) {
		var err error
		records, err = store.Records(ctx, query)
		return len(records) >= want, err
	})
	if err != nil || len(records) != want {
		t.Fatalf("%s selects %v, want %d: %v", query, records, want, err)
	}
	return records
}

// sendLogs sends a record by OTLP over HTTP, and fails unless the Collector accepts it.
func sendLogs(ctx context.Context, t *testing.T, to *backend.Collector, r *logspb.LogRecord) {
	t.Helper()
	body, err := proto.Marshal(&collogspb.ExportLogsServiceRequest{ResourceLogs: []*logspb.ResourceLogs{{
		Resource: &resourcepb.Resource{Attributes: []*commonpb.KeyValue{
			text("service.name", "probe"), text("service.namespace", "tests"), text("service.instance.id", "one"),
		}},
		ScopeLogs: []*logspb.ScopeLogs{{Scope: &commonpb.InstrumentationScope{Name: "perfline"}, LogRecords: []*logspb.LogRecord{r}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.OTLPHTTP()+"/v1/logs", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the Collector answers %s to log records", resp.Status)
	}
}

func text(key, s string) *commonpb.KeyValue { return &commonpb.KeyValue{Key: key, Value: textValue(s)} }

func textValue(s string) *commonpb.AnyValue {
	return &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: s}}
}

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

// TestLogRecords sends log records through the Collector to Loki, with both of their files. Loki
// has each record once, with its event's name, also when it was sent twice or while Loki was
// away. The links between data sources select the records of a trace, and name that trace.
func TestLogRecords(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute) // the first build of Loki takes minutes
	defer cancel()
	loki, err := backend.StartLoki(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stopAfter(t, "loki", loki)
	collector, err := backend.StartCollector(ctx, backend.CollectorConfig{Jaeger: "127.0.0.1:1", Loki: loki.OTLPHTTP()})
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
	now := time.Now()
	always := map[string]string{"service_name": "probe", "service_namespace": "tests", "service_instance_id": "one", "scope_name": "perfline"}
	traced := map[string]string{"trace_id": traceID, "span_id": spanID}
	for i, c := range []struct {
		name   string
		record *logspb.LogRecord
		text   string
		labels []map[string]string
	}{
		{"an event", ids(&logspb.LogRecord{EventName: "order.paid", Attributes: []*commonpb.KeyValue{text("payment", "card")}}),
			"order.paid", []map[string]string{traced, {"event_name": "order.paid", "payment": "card"}}},
		{"an event with a body", ids(&logspb.LogRecord{EventName: "order.shipped", Body: textValue("to the harbour")}),
			"to the harbour", []map[string]string{traced, {"event_name": "order.shipped"}}},
		{"an event under no span", &logspb.LogRecord{EventName: "cache.flushed"},
			"cache.flushed", []map[string]string{{"event_name": "cache.flushed"}}},
		{"a line of a log", &logspb.LogRecord{Body: textValue("disk is slow"), SeverityNumber: logspb.SeverityNumber_SEVERITY_NUMBER_WARN, SeverityText: "WARN"},
			"disk is slow", []map[string]string{{"severity_number": "13", "severity_text": "WARN", "detected_level": "warn"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := now.Add(time.Duration(i) * time.Microsecond)
			c.record.TimeUnixNano = uint64(at.UnixNano())
			sendLogs(ctx, t, collector, c.record)
			sendLogs(ctx, t, collector, c.record)
			want := maps.Clone(always)
			want["detected_level"] = "unknown" // Loki's own, of records without a severity
			for _, l := range c.labels {
				maps.Copy(want, l)
			}
			got := waitForLines(ctx, t, loki, fmt.Sprintf("{service_name=%q} |= %q", "probe", c.text), 1)[0]
			if got.Text != c.text || !got.Time.Equal(at) || !maps.Equal(got.Labels, want) {
				t.Errorf("Loki has %q at %v with %v, want %q at %v with %v", got.Text, got.Time, got.Labels, c.text, at, want)
			}
		})
	}

	all := sources(t)
	var fields []string
	for _, l := range waitForLines(ctx, t, loki, logsOf(all["tempo"], "probe", traceID), 2) {
		for _, f := range links(all["loki"].JSONData["derivedFields"]) {
			name := fmt.Sprint(f["matcherRegex"])
			if f["matcherType"] != "label" || l.Labels[name] != traceID {
				t.Errorf("the link %v reads %q of %v, want the trace id", f, l.Labels[name], l.Labels)
			}
			fields = append(fields, name)
		}
	}
	if len(fields) != 2 {
		t.Errorf("records lead to traces by %q, want one label of each of the two", fields)
	}

	if err := loki.Kill(); err != nil {
		t.Fatal(err)
	}
	sendLogs(ctx, t, collector, &logspb.LogRecord{TimeUnixNano: uint64(time.Now().UnixNano()), EventName: "while.away"})
	if err := loki.Start(ctx); err != nil {
		t.Fatal(err)
	}
	waitForLines(ctx, t, loki, `{service_name="probe"} | event_name="while.away"`, 1)
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

// waitForLines waits for as many lines as a query must select.
func waitForLines(ctx context.Context, t *testing.T, l *backend.Loki, query string, want int) []backend.Line {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var lines []backend.Line
	err := backend.Poll(ctx, func() (bool, error) {
		var err error
		lines, err = l.Lines(ctx, query)
		return len(lines) >= want, err
	})
	if err != nil || len(lines) != want {
		t.Fatalf("%s selects %v, want %d: %v", query, lines, want, err)
	}
	return lines
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

package signals

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/marks"
)

// startLogs starts a VictoriaLogs until the end of the test. The log of one whose test fails is printed.
func startLogs(ctx context.Context, t *testing.T) *backend.VictoriaLogs {
	t.Helper()
	v, err := backend.StartVictoriaLogs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("VictoriaLogs's log:\n%s", v.Log())
		}
		if err := v.Stop(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// startMarks starts a pipeline whose marks are log records for a receiver at the URL.
func startMarks(ctx context.Context, t *testing.T, to string) *perfline.Pipeline {
	t.Helper()
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": to + "/v1/logs", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/protobuf",
		"OTEL_LOGS_EXPORTER": "otlp", "PERFLINE_MARKS": "log_records",
	} {
		t.Setenv(name, value)
	}
	pl, err := perfline.Start(ctx, perfline.Config{
		Service: "shop", Attributes: []attribute.KeyValue{attribute.String("service.instance.id", "one")},
		Sampler: sdktrace.AlwaysSample(), SpanExporter: tracetest.NewInMemoryExporter(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

// VictoriaLogs stores marks as log events, and log records of other code, each with its name or
// body, its time, its attributes and the ids of its span. Each of them selects the record.
func TestLogStore(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	v := startLogs(ctx, t)
	pl := startMarks(ctx, t, v.OTLPHTTP())
	spanCtx, span := pl.TracerProvider().Tracer("test").Start(ctx, "request")
	marks.Mark(spanCtx, "order.paid",
		slog.String("payment", "card"), slog.Int("items", -3), slog.Float64("weight", 0.5), slog.Bool("gift", true),
		slog.Duration("waited", 1500*time.Millisecond), slog.Any("error", errors.New("declined once")),
		slog.Group("customer", slog.Int("id", 7), slog.String("tier", "gold")))
	var line log.Record
	at := time.Unix(time.Now().Unix(), 123_456_789).UTC()
	line.SetTimestamp(at)
	line.SetSeverity(log.SeverityWarn)
	line.SetSeverityText("WARN")
	line.SetBody(attribute.StringValue("disk is slow"))
	line.AddAttributes(attribute.Int("disk", 2))
	bridgelog.NewLoggerProvider(pl, nil).Logger("library").Emit(spanCtx, line)
	span.End()
	marks.Mark(ctx, "cache.flushed") // under no span
	if err := pl.Shutdown(ctx); err != nil {
		t.Error(err)
	}

	trace, id := span.SpanContext().TraceID().String(), span.SpanContext().SpanID().String()
	paid := backend.Record{
		"_msg": noBody, "event_name": "order.paid", "trace_id": trace, "span_id": id, "severity_number": "0", "severity_text": "Unspecified",
		"scope.name": "github.com/perfline/perfline", "payment": "card", "items": "-3", "weight": "0.5", "gift": "true",
		"waited": "1500000000", "error": "declined once", "customer.id": "7", "customer.tier": "gold",
	}
	slow := backend.Record{
		"_msg": "disk is slow", "_time": at.Format(time.RFC3339Nano), "trace_id": trace, "span_id": id,
		"severity_number": "13", "severity_text": "WARN", "scope.name": "library", "disk": "2",
	}
	flushed := backend.Record{
		"_msg": noBody, "event_name": "cache.flushed", "severity_number": "0", "severity_text": "Unspecified",
		"scope.name": "github.com/perfline/perfline",
	}
	for _, c := range []struct {
		name, query string
		want        []backend.Record
	}{
		{"all of a service", `{service.name="shop"}`, []backend.Record{paid, slow, flushed}},
		{"of an instance of it", `{service.name="shop",service.instance.id="one"}`, []backend.Record{paid, slow, flushed}},
		{"of another service", `{service.name="other"}`, nil},
		{"of a trace", fmt.Sprintf(`trace_id:=%q`, trace), []backend.Record{paid, slow}},
		{"of a span", fmt.Sprintf(`span_id:=%q`, id), []backend.Record{paid, slow}},
		{"of no trace", `trace_id:""`, []backend.Record{flushed}},
		{"of an event", `event_name:="order.paid"`, []backend.Record{paid}},
		{"events", `event_name:*`, []backend.Record{paid, flushed}},
		{"with a word of the body", `slow`, []backend.Record{slow}},
		{"with an attribute", `payment:=card`, []backend.Record{paid}},
		{"with an attribute of a group", `customer.id:=7`, []backend.Record{paid}},
		{"with a number in a range", `items:<0`, []backend.Record{paid}},
		{"with a severity", `severity_number:>=13`, []backend.Record{slow}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := v.Records(ctx, c.query)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range got {
				if r["service.name"] != "shop" || r["service.instance.id"] != "one" {
					t.Errorf("%v is not of the service's resource", r)
				}
			}
			if is, want := lines(got), lines(c.want); !slices.Equal(is, want) {
				t.Errorf("%s selects\n%s\nwant\n%s", c.query, strings.Join(is, "\n"), strings.Join(want, "\n"))
			}
		})
	}
	if _, err := v.Records(ctx, "trace_id:="); err == nil {
		t.Error("a wrong query gives no error")
	}
}

// noBody is what VictoriaLogs stores in place of an absent body.
const noBody = "missing _msg field; see https://docs.victoriametrics.com/victorialogs/keyconcepts/#message-field"

// lines returns the records in order, each as text, without what the resource and VictoriaLogs
// add, and without the times of marks, which are the clock's.
func lines(records []backend.Record) []string {
	var all []string
	for _, r := range records {
		r = maps.Clone(r)
		maps.DeleteFunc(r, func(name, value string) bool {
			prefix, _, _ := strings.Cut(name, ".")
			return slices.Contains([]string{"service", "telemetry", "host", "os", "process", "container"}, prefix) ||
				strings.HasPrefix(name, "_stream") || name == "scope.version" || name == "_time" && r["event_name"] != ""
		})
		all = append(all, fmt.Sprint(r))
	}
	slices.Sort(all)
	return all
}

// VictoriaLogs stores a record each time that it arrives. A request whose answer is lost is sent
// again, so its records are there twice; a query can leave the copies out. A receiver that was away
// gets each record once.
func TestLogRetries(t *testing.T) {
	const events = 10
	for _, c := range []struct {
		name   string
		lose   func(w http.ResponseWriter, pass func()) // of the first request
		copies int
	}{
		{"the receiver is away", func(w http.ResponseWriter, _ func()) { w.WriteHeader(http.StatusServiceUnavailable) }, 1},
		{"the connection ends before the request arrives", func(http.ResponseWriter, func()) { panic(http.ErrAbortHandler) }, 1},
		{"the answer is lost", func(_ http.ResponseWriter, pass func()) {
			pass()
			panic(http.ErrAbortHandler)
		}, 2},
		{"a gateway gives up too soon", func(w http.ResponseWriter, pass func()) {
			pass()
			w.WriteHeader(http.StatusGatewayTimeout)
		}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			v := startLogs(ctx, t)
			target, err := url.Parse(v.OTLPHTTP())
			if err != nil {
				t.Fatal(err)
			}
			forward := httputil.NewSingleHostReverseProxy(target)
			var requests atomic.Int32
			between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if requests.Add(1) > 1 {
					forward.ServeHTTP(w, r)
					return
				}
				c.lose(w, func() {
					stored := httptest.NewRecorder()
					if forward.ServeHTTP(stored, r); stored.Code != http.StatusOK {
						t.Errorf("VictoriaLogs answers %d", stored.Code)
					}
				})
			}))
			defer between.Close()
			t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "600000") // all are in one request, which the end sends
			pl := startMarks(ctx, t, between.URL)
			for i := range events {
				marks.Mark(ctx, "order.paid", slog.Int("order", i))
			}
			if err := pl.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			if s := pl.Stats().Logs; s.Accepted != events || s.Delivered != events || s.Retries != 1 || requests.Load() != 2 {
				t.Errorf("%d requests, and the books %+v: want 2, and %d records delivered with one retry", requests.Load(), s, events)
			}
			for query, want := range map[string]int{
				`event_name:="order.paid"`:                                               c.copies * events,
				`event_name:="order.paid" order:=7`:                                      c.copies,
				`event_name:="order.paid" | uniq by (_time, _stream_id, order)`:          events,
				`event_name:="order.paid" order:=7 | uniq by (_time, _stream_id, order)`: 1,
			} {
				got, err := v.Records(ctx, query)
				if err != nil || len(got) != want {
					t.Errorf("%s selects %d records, want %d: %v", query, len(got), want, err)
				}
			}
		})
	}
}

// VictoriaLogs that ends in order has all records when it starts again, and takes what the program
// kept meanwhile.
func TestLogStoreComesBack(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	v := startLogs(ctx, t)
	pl := startMarks(ctx, t, v.OTLPHTTP())
	marks.Mark(ctx, "before")
	if err := pl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := v.Terminate(); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "meanwhile")
	if err := backend.Poll(ctx, func() (bool, error) { return pl.Stats().Logs.Retries > 0, nil }); err != nil {
		t.Fatalf("nothing was sent again: %v", err)
	}
	if err := v.Start(ctx); err != nil {
		t.Fatal(err)
	}
	marks.Mark(ctx, "after")
	if err := pl.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	got, err := v.Records(ctx, `event_name:* | fields event_name`)
	if want := []string{"map[event_name:after]", "map[event_name:before]", "map[event_name:meanwhile]"}; err != nil || !slices.Equal(lines(got), want) {
		t.Errorf("VictoriaLogs has %v, want each of %v once: %v", got, want, err)
	}
}

package perfline_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	logspb "go.opentelemetry.io/proto/otlp/logs/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgelog"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/otlpprofiles"
)

// A receiver keeps the requests that it gets, and gives the same answer to each.
type receiver struct {
	answer exporter.Answer

	mu     sync.Mutex // guards what follows
	bodies [][]byte
}

func (r *receiver) String() string { return "the test" }

func (r *receiver) Send(_ context.Context, body []byte) exporter.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, slices.Clone(body))
	return r.answer
}

// events returns the span events, by name.
func (r *receiver) events(t *testing.T) (names []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.bodies {
		var request tracepb.TracesData
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		for _, rs := range request.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					for _, e := range s.GetEvents() {
						names = append(names, e.GetName())
					}
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// records returns the log records, as "service scope event trace/span".
func (r *receiver) records(t *testing.T) (all []string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.bodies {
		var request logspb.LogsData
		if err := proto.Unmarshal(body, &request); err != nil {
			t.Fatal(err)
		}
		for _, rl := range request.GetResourceLogs() {
			service := ""
			for _, kv := range rl.GetResource().GetAttributes() {
				if kv.GetKey() == "service.name" {
					service = kv.GetValue().GetStringValue()
				}
			}
			for _, sl := range rl.GetScopeLogs() {
				for _, l := range sl.GetLogRecords() {
					all = append(all, fmt.Sprintf("%s %s %s %x/%x", service, sl.GetScope().GetName(), l.GetEventName(), l.GetTraceId(), l.GetSpanId()))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// Marks become span events, log records or both, as the field or the variable says. The page has them as events in every form. A mark
// without a span is a log record in every form.
func TestMarksAsLogRecords(t *testing.T) { overBoth(t, testMarksAsLogRecords) }

func testMarksAsLogRecords(t *testing.T, start starter) {
	t.Helper()
	for _, c := range []struct {
		name     string
		config   bridge.MarkForm
		variable string
		form     bridge.MarkForm
	}{
		{"unset", bridge.SpanEvents, "", bridge.SpanEvents},
		{"a field", bridge.LogRecords, "", bridge.LogRecords},
		{"a variable", bridge.SpanEvents, "log_records", bridge.LogRecords},
		{"a variable for both", bridge.SpanEvents, "both", bridge.SpanEventsAndLogRecords},
		{"the field wins", bridge.SpanEventsAndLogRecords, "log_records", bridge.SpanEventsAndLogRecords},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PERFLINE_MARKS", c.variable)
			spans, logs := &receiver{}, &receiver{}
			pl, ctx, log := start(t, perfline.Config{
				Service: "shop", Traces: exporter.Config{Sender: spans}, Logs: exporter.Config{Sender: logs}, Marks: c.config,
			})
			marks.Mark(ctx, "loose")
			ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
			marks.Mark(ctx, "cache.miss")
			span.End()
			if err := pl.Flush(t.Context()); err != nil {
				t.Error(err)
			}
			sc := span.SpanContext()
			prefix := "shop " + scope.Name + " "
			records := []string{prefix + "loose /"}
			if c.form != bridge.SpanEvents {
				records = append(records, fmt.Sprintf("%scache.miss %s/%s", prefix, sc.TraceID(), sc.SpanID()))
				slices.Sort(records)
			}
			var events []string
			if c.form != bridge.LogRecords {
				events = []string{"cache.miss"}
			}
			if got := logs.records(t); !slices.Equal(got, records) {
				t.Errorf("log records %q, want %q", got, records)
			}
			if got := spans.events(t); !slices.Equal(got, events) {
				t.Errorf("span events %q, want %q", got, events)
			}
			if err := pl.Shutdown(patient(t)); err != nil {
				t.Error(err)
			}
			s := pl.Stats()
			if n := uint64(len(records)); s.Logs != (exporter.Stats{Accepted: n, Delivered: n}) {
				t.Errorf("books of logs %+v, want %d records delivered", s.Logs, n)
			}
			if b := s.Bridge; b.MarkEvents != uint64(len(events)) || b.MarkEvents+b.MarkRecords != 2 || b.MarksWithoutSpan != 0 {
				t.Errorf("counts %+v, want 2 marks, %d of them events", b, len(events))
			}
			if log.Len() > 0 {
				t.Errorf("logged %s", log)
			}
		})
	}
}

// The page shows marks in their spans although these are exported without them.
func TestPageHasMarksOfLogRecords(t *testing.T) {
	spans, logs := &receiver{}, &receiver{}
	pl, ctx, _ := start(t, perfline.Config{Traces: exporter.Config{Sender: spans}, Logs: exporter.Config{Sender: logs}, Marks: bridge.LogRecords})
	ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "s", trace.WithSpanKind(trace.SpanKindServer))
	marks.Mark(ctx, "cache.miss")
	marks.Time(ctx, "render").End()
	span.End()
	if err := pl.Shutdown(patient(t)); err != nil {
		t.Error(err)
	}
	all := stored(pl).Requests()
	if len(all) != 1 {
		t.Fatalf("%d requests, want 1", len(all))
	}
	kept := all[0].Request()
	if len(kept.Root.Events) != 1 || kept.Root.Events[0].Name != "cache.miss" {
		t.Fatalf("the request is %+v, want one with the event cache.miss", kept)
	}
	var request tracepb.TracesData
	if err := proto.Unmarshal(spans.bodies[0], &request); err != nil {
		t.Fatal(err)
	}
	exported := map[string]bool{}
	for _, ss := range request.GetResourceSpans()[0].GetScopeSpans() {
		for _, s := range ss.GetSpans() {
			exported[fmt.Sprintf("%x", s.GetSpanId())] = true
		}
	}
	for _, s := range kept.Spans {
		if !exported[s.SpanID.String()] {
			t.Errorf("the page's span %q has the id %s, which was not exported", s.Name, s.SpanID)
		}
	}
}

// Marks stay span events where log records go nowhere. The log has one line about it.
func TestLogRecordsWithoutReceiver(t *testing.T) {
	for _, variable := range []string{"", "none"} {
		t.Setenv("OTEL_LOGS_EXPORTER", variable)
		spans := &receiver{}
		pl, ctx, log := start(t, perfline.Config{Traces: exporter.Config{Sender: spans}, Marks: bridge.LogRecords})
		ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
		marks.Mark(ctx, "cache.miss")
		span.End()
		if err := pl.Shutdown(patient(t)); err != nil {
			t.Error(err)
		}
		if got := spans.events(t); !slices.Equal(got, []string{"cache.miss"}) {
			t.Errorf("span events %q, want cache.miss", got)
		}
		if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "OTEL_LOGS_EXPORTER=otlp and an endpoint, or Config.Logs") || !strings.Contains(line, "form=log_records") {
			t.Errorf("logged %q, want one line with the remedy", line)
		}
		if pl.Logs() != nil {
			t.Error("there is a delivery of logs")
		}
	}
}

// OpenTelemetry's log SDK reads the limits, too, and its complaint is not a second line about a wrong one.
func TestWrongLimitOfLogsIsLoggedOnce(t *testing.T) {
	for _, name := range []string{"OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT", "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT"} {
		t.Setenv(name, "many")
		pl, _, log := start(t, perfline.Config{Logs: exporter.Config{Sender: &receiver{}}})
		provider := bridgelog.NewLoggerProvider(pl, nil)
		if err := errors.Join(provider.Shutdown(t.Context()), pl.Shutdown(patient(t))); err != nil {
			t.Error(err)
		}
		if lines := log.String(); strings.Count(lines, name) != 1 {
			t.Errorf("logged %q, want one line about %s", lines, name)
		}
	}
}

// A backend that does not know logs costs one line in the log. Traces arrive, and the loss is counted and reported.
func TestBackendWithoutLogs(t *testing.T) {
	spans := &receiver{}
	logs := &receiver{answer: exporter.Answer{Err: errors.New("404 Not Found"), Unknown: true}}
	pl, ctx, log := start(t, perfline.Config{Traces: exporter.Config{Sender: spans}, Logs: exporter.Config{Sender: logs}, Marks: bridge.LogRecords})
	for range 3 {
		marks.Mark(ctx, "loose")
		_ = pl.Flush(t.Context()) // fails: the test looks at the log and the counts
	}
	var lost *perfline.LostError
	if err := pl.Shutdown(patient(t)); !errors.As(err, &lost) || lost.LogRecords != 3 || lost.Spans != 0 || lost.Marks != 0 {
		t.Errorf("Shutdown returned %v, want 3 lost log records", err)
	}
	if n := len(logs.bodies); n != 1 {
		t.Errorf("%d requests with logs, want one", n)
	}
	if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "does not know log records") {
		t.Errorf("logged %q, want one line", line)
	}
	counts := map[string]uint64{}
	for _, c := range pl.Counts() {
		counts[cmp.Or(strings.TrimPrefix(c.Group, "perfline."), c.Group)+" "+c.Name] += c.N
	}
	for name, want := range map[string]uint64{
		"delivery.logs accepted": 3, "delivery.logs failed": 1, "delivery.logs dropped": 2, "marks log_record": 3, "marks without_span": 0,
	} {
		if counts[name] != want {
			t.Errorf("%s is %d, want %d", name, counts[name], want)
		}
	}
}

// Items are dropped in the pause after a backend that does not know their signal: no cause blames the queue alone.
func TestCauseOfDroppedItems(t *testing.T) {
	for name, c := range map[string]func(exporter.Sender) perfline.Config{
		"log records": func(s exporter.Sender) perfline.Config { return perfline.Config{Logs: exporter.Config{Sender: s}} },
		"profiles over OTLP": func(s exporter.Sender) perfline.Config {
			return perfline.Config{ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Sender: s})}
		},
	} {
		pl, ctx, _ := start(t, c(&receiver{answer: exporter.Answer{Err: errors.New("404 Not Found"), Unknown: true}}))
		marks.Mark(ctx, "loose")
		_ = pl.Flush(t.Context())
		marks.Mark(ctx, "loose")
		marks.Mark(ctx, "loose")
		_ = pl.Flush(t.Context())
		const cause = " dropped at the full queue, or not known to the backend"
		if !slices.ContainsFunc(pl.Counts(), func(c exporter.Count) bool { return c.What == name+cause && c.N > 0 }) {
			t.Errorf("%s: the counts have no cause %q: %v", name, cause, pl.Counts())
		}
		if err := pl.Shutdown(patient(t)); err == nil || !strings.Contains(err.Error(), name+cause) {
			t.Errorf("%s: Shutdown returned %v, want the cause %q", name, err, cause)
		}
	}
}

// A hanging is a backend that never answers.
type hanging struct{}

func (hanging) Send(ctx context.Context, _ []byte) exporter.Answer {
	<-ctx.Done()
	return exporter.Answer{Err: ctx.Err()}
}

// Spans arrive although the backend of log records hangs, and the other way round.
func TestSignalsHangAlone(t *testing.T) { overBoth(t, testSignalsHangAlone) }

func testSignalsHangAlone(t *testing.T, start starter) {
	t.Helper()
	t.Setenv("OTEL_BLRP_SCHEDULE_DELAY", "60000") // only Shutdown sends
	for name, c := range map[string]struct {
		spans, logs exporter.Sender
		want        perfline.LostError
	}{
		"spans":       {hanging{}, &receiver{}, perfline.LostError{Spans: 1}},
		"log records": {&receiver{}, hanging{}, perfline.LostError{LogRecords: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pl, ctx, _ := start(t, perfline.Config{
					Traces: exporter.Config{Sender: c.spans}, Logs: exporter.Config{Sender: c.logs}, Marks: bridge.LogRecords,
				})
				ctx, span := pl.TracerProvider().Tracer("t").Start(ctx, "s")
				marks.Mark(ctx, "m")
				span.End()
				deadline, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				var lost *perfline.LostError
				if err := pl.Shutdown(deadline); !errors.As(err, &lost) || lost.Spans != c.want.Spans || lost.LogRecords != c.want.LogRecords {
					t.Errorf("Shutdown returned %v, want %d spans and %d log records lost", err, c.want.Spans, c.want.LogRecords)
				}
			})
		})
	}
}

// The resource of the pipeline is the same in all signals.
func TestPipelineResource(t *testing.T) {
	pl, _, _ := start(t, perfline.Config{Service: "shop"})
	defer func() { _ = pl.Shutdown(t.Context()) }()
	if v, _ := pl.Resource().Set().Value(attribute.Key("service.name")); v.AsString() != "shop" {
		t.Errorf("service.name is %q", v.AsString())
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	off, _, _ := start(t, perfline.Config{Service: "shop"})
	defer func() { _ = off.Shutdown(t.Context()) }()
	if off.Resource() != nil || off.Logs() != nil {
		t.Error("a disabled pipeline has a resource or a delivery of logs")
	}
}

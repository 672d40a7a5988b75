package mcpserver_test

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/waits"
)

// queried adds a request to a source, with queries of 5 ms one after the other.
func queried(r *recorded, id byte, route, path string, queries int) {
	start := origin.Add(time.Duration(id) * time.Second)
	span := func(self, parent trace.SpanID, kind trace.SpanKind, name string, from, to time.Duration) {
		s := tracetest.SpanStub{
			Name: name, SpanKind: kind, StartTime: start.Add(from), EndTime: start.Add(to),
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{id}, SpanID: self, TraceFlags: trace.FlagsSampled}),
		}
		if parent.IsValid() {
			s.Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{id}, SpanID: parent})
		} else {
			s.Attributes = []attribute.KeyValue{attribute.String("url.path", path)}
		}
		r.recent.OnEnd(s.Snapshot())
	}
	root := trace.SpanID{id}
	const each = 5 * ms
	for i := range queries {
		at := time.Duration(i) * each
		span(trace.SpanID{id, byte(i + 1)}, root, trace.SpanKindInternal, "query", at, at+each)
	}
	took := time.Duration(queries) * each
	span(root, trace.SpanID{}, trace.SpanKindServer, route, 0, took)
	r.recent.Routes().Add(local.Root{Name: route, Start: start, End: start.Add(took)})
}

// A slow request is compared with a usual one of its route, and with one that the agent names.
func TestCompare(t *testing.T) {
	r := &recorded{recent: requests.NewRecent(requests.Config{}), result: new(waits.Request)}
	for id := range byte(3) {
		queried(r, id+1, "GET /orders/{id}", "/orders/17", 1)
	}
	queried(r, 4, "GET /orders/{id}", "/orders/18", 4)
	queried(r, 5, "GET /alone", "/alone", 1)
	a := connect(t, mount(t, mcpserver.Handler(r, quiet(mcpserver.Config{}))).URL)
	requestOf := func(path string) any {
		t.Helper()
		return suggested(t, a.ask("list_requests", map[string]any{"attribute": "url.path=" + path}), "get_request").arguments["request"]
	}
	slow := requestOf("/orders/18")
	text := a.ask("compare_requests", map[string]any{"slow": slow})
	if !strings.Contains(text, "\n15.0 20.0 5.00 4 1 · ‹query›\n") {
		t.Errorf("the comparison has no three more queries of 5 ms each:\n%s", text)
	}
	next := suggested(t, text, "get_span")
	if detail := a.ask(next.tool, next.arguments); !strings.Contains(detail, "‹query›") {
		t.Errorf("the span with the largest difference is\n%s", detail)
	}
	again := a.ask("compare_requests", map[string]any{"slow": slow, "usual": requestOf("/orders/17")})
	if !strings.Contains(again, " 4 1 · ‹query›") {
		t.Errorf("the comparison with a request by its id:\n%s", again)
	}
	if text := a.refused("compare_requests", map[string]any{"slow": slow, "usual": slow}); !strings.Contains(text, "must be another request than slow") {
		t.Errorf("a request compared with itself: %s", text)
	}
	alone := requestOf("/alone")
	if text := a.refused("compare_requests", map[string]any{"slow": alone}); !strings.Contains(text, "no other request of ‹GET /alone›") || !strings.Contains(text, "next: list_requests") {
		t.Errorf("a request without another of its route: %s", text)
	}
}

package mcpserver_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/mcpserver"
	"github.com/perfline/perfline/waits"
)

// widest has a request with everything that an answer has of one, and the longest names: each has characters of four bytes.
func widest(children int) *recorded {
	wide := func(n int) string { return fmt.Sprint(n) + strings.Repeat("\U0001f600", 100) }
	r := record(benign)
	r.recent = requests.NewRecent(requests.Config{})
	r.result = &waits.Request{TraceID: traceID, RootID: rootID, Name: wide(0), Start: origin, Duration: 100 * ms}
	var attributes []attribute.KeyValue
	for i := range 10 {
		attributes = append(attributes, attribute.String(wide(i), wide(i)))
	}
	span := func(id, parent trace.SpanID) tracetest.SpanStub {
		s := tracetest.SpanStub{
			Name: wide(1), SpanKind: trace.SpanKindServer, StartTime: origin, EndTime: origin.Add(100 * ms), Attributes: attributes,
			SpanContext: trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: id, TraceFlags: trace.FlagsSampled}),
			Status:      sdktrace.Status{Code: codes.Error, Description: wide(2)},
		}
		if parent.IsValid() {
			s.SpanKind = trace.SpanKindInternal
			s.Parent = trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: parent})
		}
		for i := range 10 {
			s.Events = append(s.Events, sdktrace.Event{Name: wide(i), Time: origin, Attributes: attributes})
		}
		return s
	}
	for i := range children {
		id := trace.SpanID{9, byte(i)}
		r.recent.OnEnd(span(id, rootID).Snapshot())
		g := waits.Goroutine{ID: uint64(i + 1), Function: wide(3)}
		for k := range 10 {
			by := &waits.Party{Goroutine: uint64(100 + k), Function: wide(k), Request: wide(k), TraceID: otherTrace, RootID: trace.SpanID{8, byte(k)}}
			g.Intervals = append(g.Intervals, waits.Interval{
				Kind: waits.Mutex, Start: time.Duration(k) * 10 * ms, End: time.Duration(k+1) * 10 * ms, SpanID: id, Stack: []waits.Frame{{Function: wide(k)}}, By: by,
			})
			r.result.Causes = append(r.result.Causes, waits.Cause{Kind: waits.Mutex, Duration: 10 * ms, Function: wide(k), SpanID: id, Span: wide(k), By: by})
		}
		r.result.Goroutines = append(r.result.Goroutines, g)
	}
	r.recent.OnEnd(span(rootID, trace.SpanID{}).Snapshot())
	return r
}

// A page has a span, and a page of a span an attribute, even if all names are as long as they can be.
func TestWidestNames(t *testing.T) {
	const children = 5
	a := connect(t, mount(t, mcpserver.Handler(widest(children), quiet(mcpserver.Config{}))).URL)
	id := rootID.String()
	text := a.ask("get_request", map[string]any{"request": id})
	for _, want := range []string{"cause: ", "  45 more parts", "mark at ", "wait of ", "of request "} {
		if !strings.Contains(text, want) {
			t.Errorf("get_request has no %q:\n%s", want, text)
		}
	}
	spans, _ := pages(t, a, "get_request", map[string]any{"request": id}, regexp.MustCompile(`^[0-9a-f]{16} `).MatchString)
	if len(spans) != children+1 {
		t.Errorf("the pages of the request have %d spans, want %d", len(spans), children+1)
	}
	rows, _ := pages(t, a, "get_span", map[string]any{"request": id, "span": id}, func(l string) bool { return strings.HasPrefix(l, "  ") })
	if want := 10 + 10; len(rows) != want {
		t.Errorf("the pages of the span have %d attributes and marks, want %d", len(rows), want)
	}
}

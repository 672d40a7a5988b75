package requests_test

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

// Spans that wait for an open request are lost beyond the bound. Late spans are not: they displace each other, and no spans of open requests.
func TestLateSpansDisplaceNoOpenRequest(t *testing.T) {
	var groups otlpenc.Groups
	r := requests.NewRecent(requests.Config{MaxPending: 3})
	accept := func(trace, id, parent int, name string, open bool) {
		s := encode(&groups, span(trace, id, parent, name, 0, ms, func(*tracetest.SpanStub) {}))
		if open {
			s = bridge.Spans(otlpenc.Spans(s).WithOpenRoot())
		}
		r.Accept([]bridge.Spans{s})
	}
	accept(3, 9, 1, "of no known request", false)
	for trace := range 4 {
		accept(trace, 2, 1, "early", true) // the first of the four has to go
	}
	for i := range 20 {
		accept(100+i, 2, 1, "late", false)
		accept(100+i, 3, 1, "late", false)
	}
	if s := r.Stats(); s.Abandoned != 1 || s.Late != 2*17 || s.SpansDropped != 0 {
		t.Errorf("%+v, want 1 open request and the spans of 17 late traces", s)
	}
	for trace := range 4 {
		accept(trace, 1, 0, "request", false)
	}
	want := []string{"[request of no known request early]", "[request early]", "[request early]", "[request]"}
	for i, q := range decoded(r.Requests()) {
		if got := fmt.Sprint(spanNames(q)); got != want[i] {
			t.Errorf("the request %d is %s, want %s", i, got, want[i])
		}
	}
	if s := r.Stats(); s.Abandoned != 1 || s.Late != 2*17 {
		t.Errorf("after the requests: %+v", s)
	}
}

package requests_test

import (
	"math"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/requests"
)

// Holds agrees with Snapshot, also about requests of one trace.
func TestHolds(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 3, Slowest: 1, Examples: -1})
	for _, s := range encodedSpans() {
		r.Accept([]bridge.Spans{s})
	}
	read := 0
	r.OnRead(func() { read++ })
	var ids []local.ID
	for _, s := range r.All() {
		ids = append(ids, s.ID(), local.ID{Trace: s.TraceID, Span: trace.SpanID{1}}, local.ID{Trace: trace.TraceID{1}, Span: s.SpanID})
	}
	before := read
	held := r.Holds(append(ids, ids...))
	if read != before+1 {
		t.Errorf("writers hand over %d times, want once", read-before)
	}
	for i, id := range append(ids, ids...) {
		if want := i%3 == 0; held[i] != want {
			t.Errorf("holds %v: %v, want %v", id, held[i], want)
		}
	}
	if len(ids) < 9 {
		t.Errorf("there are only %d ids", len(ids))
	}
}

// Numbers without bound, of which a sum would overflow, are as good as others.
func TestNumbersWithoutBound(t *testing.T) {
	all := encodedSpans()
	for _, c := range []requests.Config{
		{Requests: math.MaxInt},
		{Requests: math.MaxInt, Slowest: math.MaxInt, MaxPending: math.MaxInt, MaxSpans: math.MaxInt},
		{Requests: math.MaxInt, KeptRequests: math.MaxInt, Slowest: 2, Background: -1, Examples: -1},
		{Requests: 1, Slowest: -1, MaxPending: -1},
	} {
		r := requests.NewRecent(c)
		for _, s := range all {
			r.Accept([]bridge.Spans{s})
		}
		if got := r.Stats().Requests; got != 256 {
			t.Errorf("%+v: %d requests ended, want 256", c, got)
		}
		if got, want := len(r.Requests()), min(c.Requests, 256); got != want {
			t.Errorf("%+v: %d requests, want %d", c, got, want)
		}
	}
}

package requests_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/internal/requests"
)

// examplesOf returns the examples of r, the newest first.
func examplesOf(r *requests.Recent) []requests.Snapshot {
	all := r.All()
	return all[len(r.Requests())+len(r.Slowest())+len(r.KeptRequests()) : len(all)-len(r.Background())]
}

func exampleNames(r *requests.Recent) (all []string) {
	for _, s := range examplesOf(r) {
		all = append(all, s.Name)
	}
	return all
}

// A request that no other list has any more is found as the example of its cell. Streams and roots that are no requests are none.
func TestExamplesStay(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 2, Slowest: -1, Background: 1, Examples: 3})
	r.OnEnd(span(1, 1, 0, "GET /", 0, 20*ms))
	for i := range 50 {
		r.OnEnd(span(10+i, 1, 0, "GET /", 0, 17*ms)) // between 16 and 24 times 1.024 ms
	}
	r.OnEnd(span(2, 1, 0, "stream", 0, ms, func(s *tracetest.SpanStub) {
		s.Attributes = append(s.Attributes, attribute.Bool(record.StreamKey, true))
	}))
	r.OnEnd(span(3, 1, 0, "background", 0, ms, func(s *tracetest.SpanStub) { s.SpanKind = trace.SpanKindInternal }))
	if got, want := exampleNames(r), []string{"GET /"}; !slices.Equal(got, want) {
		t.Fatalf("the examples are %q, want %q", got, want)
	}
	first := examplesOf(r)[0]
	if q, ok := r.Snapshot(first.TraceID, first.SpanID); !ok || q.Took() != 20*ms {
		t.Errorf("found %t, a request of %v, want the first one, of 20ms", ok, q.Took())
	}
	for i := range 3 {
		r.OnEnd(span(100+i, 1, 0, fmt.Sprint("GET /", i), 0, ms))
	}
	if got, want := exampleNames(r), []string{"GET /2", "GET /1", "GET /0"}; !slices.Equal(got, want) {
		t.Errorf("the examples are %q, want %q", got, want)
	}
	if _, ok := r.Snapshot(first.TraceID, first.SpanID); ok {
		t.Error("the request that is in no list any more is still there")
	}
	if s := r.Stats(); s.Examples != 4 || s.ExamplesEvicted != 0 || s.Evicted != 0 {
		t.Errorf("%+v, want 4 examples", s)
	}
}

// Recent keeps examples also when it keeps nothing else, and none if it is not to.
func TestOnlyExamples(t *testing.T) {
	for _, c := range []struct{ most, want int }{{-1, 0}, {1, 1}, {0, 256}} {
		r := requests.NewRecent(requests.Config{Requests: -1, Slowest: -1, KeptRequests: -1, Background: -1, Examples: c.most})
		for i := range 300 {
			r.OnEnd(span(i, 1, 0, fmt.Sprint("GET /", i), 0, time.Millisecond))
		}
		if got := len(examplesOf(r)); got != c.want {
			t.Errorf("with at most %d examples, there are %d, want %d", c.most, got, c.want)
		}
	}
}

// Examples share MaxBytes with the newest requests: the oldest request of both goes.
func TestExamplesAreBoundedInBytes(t *testing.T) {
	each := sizeOf(span(1, 1, 0, "GET /10", 0, ms, ofText(700)))
	r := requests.NewRecent(requests.Config{Requests: 2, Slowest: -1, MaxBytes: 16 * each})
	for i := range 40 {
		r.OnEnd(span(i, 1, 0, fmt.Sprint("GET /", i), 0, ms, ofText(700)))
		if s := r.Stats(); int(s.Bytes) > 16*each {
			t.Fatalf("%d bytes are in use, want %d at most", s.Bytes, 16*each)
		}
	}
	var want []string
	for i := range 16 {
		want = append(want, fmt.Sprint("GET /", 39-i))
	}
	if got := exampleNames(r); !slices.Equal(got, want) {
		t.Errorf("the examples are %q, want %q", got, want)
	}
	newest := r.Requests()
	if s := r.Stats(); len(newest) != 2 || s.Examples != 40 || s.ExamplesEvicted != 24 || s.Evicted != 24 {
		t.Errorf("%d newest requests, %+v, want 2, and 24 of 40 examples evicted", len(newest), s)
	}
}

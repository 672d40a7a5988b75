package requests_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"weak"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/exporter/requests"
)

// Many spans at once are the same requests as these spans one by one, also if not all of them fit.
func TestRecentAcceptsManyAtOnce(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := requests.Config{Requests: 1 + r.IntN(4), Slowest: 1 + r.IntN(3), Examples: r.IntN(4) - 1, MaxSpans: 1 + r.IntN(12), MaxBytes: 16 * (500 + r.IntN(5000))}
		single, joined := requests.NewRecent(c), requests.NewRecent(c)
		var groups otlpenc.Groups
		for i := 0; i < 60; {
			var all otlpenc.Spans
			for range 1 + r.IntN(10) {
				one := encode(&groups, randomSpan(r, i, 600))
				if all.Group == nil {
					all.Group = one.Group
				}
				one.Group = all.Group
				single.Accept(one)
				all.Bytes = append(all.Bytes, one.Bytes...)
				all.Count++
				i++
			}
			joined.Accept(all)
			clear(all.Bytes) // the caller uses them again
			if got, want := joined.Stats(), single.Stats(); got != want {
				t.Fatalf("seed %d, %d spans: stats %+v, want %+v", seed, i, got, want)
			}
			if got, want := joined.Requests(), single.Requests(); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d spans: requests are\n%v\nwant\n%v", seed, i, got, want)
			}
			if got, want := joined.Slowest(), single.Slowest(); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d spans: the slowest are\n%v\nwant\n%v", seed, i, got, want)
			}
		}
	}
}

// A request that is gone leaves nothing of its tracer in memory.
func TestRecentReleasesTracers(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 2, Slowest: -1, Examples: -1})
	accept := func(i int) weak.Pointer[otlpenc.Group] {
		var groups otlpenc.Groups
		s := encode(&groups, span(i, 1, 0, "request", 0, ms, func(s *tracetest.SpanStub) { s.InstrumentationScope.Name = fmt.Sprint(i) }))
		r.Accept(s)
		return weak.Make(s.Group)
	}
	gone := accept(1)
	accept(2)
	last := accept(3)
	for range 3 { // the pool of groups goes later
		runtime.GC()
	}
	if gone.Value() != nil {
		t.Error("the tracer of a request that is gone is still in memory")
	}
	if last.Value() == nil || r.Requests()[0].Root.Group != last.Value() {
		t.Error("the newest request has no tracer")
	}
}

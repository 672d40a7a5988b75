package requests_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"weak"

	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

// anyList returns spans one by one, and the same spans as a provider hands them over: spans of a trace and a group are together.
func anyList(r *rand.Rand, groups *otlpenc.Groups, from, text int) (single, list []bridge.Spans) {
	for i := range 1 + r.IntN(10) {
		one := encode(groups, randomSpan(r, from+i, text))
		single = append(single, one)
		last := len(list) - 1
		if last >= 0 && rootOf(list[last]) == nil && list[last].TraceID == one.TraceID && groupOf(list[last]) == groupOf(one) {
			list[last] = join(list[last], one)
		} else {
			list = append(list, one)
		}
	}
	return single, list
}

// Many spans at once are the same requests as these spans one by one, also if not all of them fit. Their memory is the same, too, unless
// requests retain their spans.
func TestRecentAcceptsManyAtOnce(t *testing.T) {
	for seed := range uint64(120) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := requests.Config{Requests: 1 + r.IntN(4), Slowest: 1 + r.IntN(3), Examples: r.IntN(4) - 1, MaxSpans: 1 + r.IntN(12)}
		copies := seed%2 == 0
		if copies {
			c.Background, c.MaxBytes = copying, 16*(500+r.IntN(5000))
		}
		single, joined := requests.NewRecent(c), requests.NewRecent(c)
		var groups otlpenc.Groups
		var w otlpenc.Writer
		for i := 0; i < 60; {
			spans, list := anyList(r, &groups, i, 600)
			for _, one := range spans {
				single.Accept([]bridge.Spans{one})
			}
			i += len(spans)
			written := write(&w, list...)
			joined.Accept(written)
			release(written)
			clear(written) // the caller uses them again
			got, want := joined.Stats(), single.Stats()
			if !copies {
				got.Bytes, want.Bytes = 0, 0
			}
			if got != want {
				t.Fatalf("seed %d, %d spans: stats %+v, want %+v", seed, i, got, want)
			}
			if got, want := decoded(joined.Requests()), decoded(single.Requests()); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d spans: requests are\n%v\nwant\n%v", seed, i, got, want)
			}
			if got, want := decoded(joined.Slowest()), decoded(single.Slowest()); !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d, %d spans: the slowest are\n%v\nwant\n%v", seed, i, got, want)
			}
		}
	}
}

// copying is a number of requests with which a Recent copies all spans.
const copying = 257

// A request that is gone leaves nothing of its tracer in memory.
func TestRecentReleasesTracers(t *testing.T) {
	r := requests.NewRecent(requests.Config{Requests: 2, Slowest: -1, Examples: -1})
	accept := func(i int) weak.Pointer[otlpenc.Group] {
		var groups otlpenc.Groups
		s := encode(&groups, span(i, 1, 0, "request", 0, ms, func(s *tracetest.SpanStub) { s.InstrumentationScope.Name = fmt.Sprint(i) }))
		r.Accept([]bridge.Spans{s})
		return weak.Make(groupOf(s))
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
	if last.Value() == nil || r.Requests()[0].Request().Root.Group != last.Value() {
		t.Error("the newest request has no tracer")
	}
}

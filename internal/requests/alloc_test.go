//go:build !race

// The race detector allocates itself.

package requests_test

import (
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/garbage"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
)

// Requests that go leave their memory to the next ones.
func TestAllocAccept(t *testing.T) {
	var groups otlpenc.Groups
	var spans [][3]sdktrace.ReadOnlySpan
	var encoded [][3]bridge.Spans
	var joined []bridge.Spans
	for i := range 3000 {
		request := [3]sdktrace.ReadOnlySpan{
			span(i, 2, 1, "load", 0, ms, ofText(i%100)),
			span(i, 3, 1, "render", 0, ms, event("row", ms), ofText(200)),
			span(i, 1, 0, "GET /products/{id}", 0, time.Duration(i)*time.Second, event("miss", ms), ofText(i%400)), // every tenth is an example
		}
		var each [3]bridge.Spans
		for k, s := range request {
			each[k] = encode(&groups, s)
		}
		spans, encoded, joined = append(spans, request), append(encoded, each), append(joined, join(each[:]...))
	}
	var w otlpenc.Writer
	list := make([]bridge.Spans, 0, 4)
	handOver := func(r *requests.Recent, all ...bridge.Spans) {
		list = list[:0]
		for _, s := range all {
			s.Bytes = append(w.Next(), s.Bytes...)
			list = append(list, bridge.Spans(w.Spans(otlpenc.Spans(s))))
		}
		r.Accept(list)
		release(list)
	}
	for name, c := range map[string]struct {
		config requests.Config
		accept func(r *requests.Recent, i int)
	}{
		"OnEnd": {requests.Config{}, func(r *requests.Recent, i int) {
			for _, s := range spans[i] {
				r.OnEnd(s)
			}
		}},
		"Accept": {requests.Config{}, func(r *requests.Recent, i int) {
			for k := range encoded[i] {
				r.Accept(encoded[i][k : k+1])
			}
		}},
		"Accept of all at once":          {requests.Config{}, func(r *requests.Recent, i int) { handOver(r, joined[i]) }},
		"Accept of a list":               {requests.Config{}, func(r *requests.Recent, i int) { handOver(r, encoded[i][:]...) }},
		"Accept of all at once, copying": {requests.Config{Requests: copying}, func(r *requests.Recent, i int) { handOver(r, joined[i]) }},
		"Accept after a request was looked for": {requests.Config{}, func(r *requests.Recent, i int) {
			r.Snapshot(trace.TraceID{0xff}, trace.SpanID{1})
			handOver(r, joined[i])
		}},
	} {
		r, i := requests.NewRecent(c.config), 0
		one := func() {
			c.accept(r, i)
			i++
		}
		for range 1000 {
			one()
		}
		if n := testing.AllocsPerRun(1900, one); n > 0 {
			t.Errorf("%s: %v allocations for each request, want 0", name, n)
		}
	}
}

// Blocks go back to their writers when requests are displaced, evicted or copied: 12 MB of spans need about as much memory as what is in memory.
func TestAllocBlocksAreUsedAgain(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 9))
		c := retaining(r)
		c.Requests, c.KeptRequests, c.Examples = 10+r.IntN(20), -1, -1 // requests that stay longer than the newest get a copy
		recent := requests.NewRecent(c)
		var groups otlpenc.Groups
		h := &handing{to: recent, r: r, groups: &groups}
		const lists = 5000
		var all [lists][]bridge.Spans
		for i := range all {
			all[i] = h.list()
		}
		var w otlpenc.Writer
		written := make([]bridge.Spans, 0, 100)
		total := 0
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for _, list := range all {
			written = written[:0]
			for _, s := range list {
				total += len(s.Bytes)
				s.Bytes = append(w.Next(), s.Bytes...)
				written = append(written, bridge.Spans(w.Spans(otlpenc.Spans(s))))
			}
			recent.Accept(written)
			release(written)
		}
		runtime.ReadMemStats(&after)
		used := int(after.TotalAlloc - before.TotalAlloc)
		if used > total/4 {
			t.Errorf("seed %d: %d bytes were allocated for %d bytes of spans, want a quarter at most: copies of spans that wait: %+v", seed, used, total, recent.Stats())
		}
		t.Logf("seed %d: %d bytes were allocated for %d bytes of spans", seed, used, total)
	}
}

// Requests that stay longer than the newest do not keep the blocks of others in memory.
func TestAllocOfKeptRequests(t *testing.T) {
	const kept, others = 100, 15
	r := requests.NewRecent(requests.Config{Requests: 4, Slowest: -1, KeptRequests: kept, Examples: -1})
	var groups otlpenc.Groups
	var w otlpenc.Writer
	before := garbage.Heap()
	for i := range 2 * kept * (1 + others) {
		s := encode(&groups, span(i, 1, 0, "GET /", 0, ms, ofText(1000)))
		if i%(1+others) == 0 {
			rootOf(s).Keep = local.KeptForTime
		}
		list := write(&w, s)
		r.Accept(list)
		release(list)
	}
	used := garbage.Heap() - before
	if most := 4 * int(r.Stats().Bytes); used > most || len(r.KeptRequests()) != kept {
		t.Errorf("%d requests take %d bytes, want %d at most", len(r.KeptRequests()), used, most)
	}
	runtime.KeepAlive(r)
}

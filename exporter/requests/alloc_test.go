//go:build !race

// The race detector allocates itself.

package requests_test

import (
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/exporter/otlpenc"
	"github.com/perfline/perfline/exporter/requests"
)

// Requests that go leave their memory to the next ones.
func TestAllocAccept(t *testing.T) {
	var groups otlpenc.Groups
	var spans [][3]sdktrace.ReadOnlySpan
	var encoded [][3]otlpenc.Spans
	var joined []otlpenc.Spans
	for i := range 3000 {
		request := [3]sdktrace.ReadOnlySpan{
			span(i, 2, 1, "load", 0, ms, ofText(i%100)),
			span(i, 3, 1, "render", 0, ms, event("row", ms), ofText(200)),
			span(i, 1, 0, "GET /products/{id}", 0, time.Duration(i)*time.Second, event("miss", ms), ofText(i%400)), // every tenth is an example
		}
		var each [3]otlpenc.Spans
		var all otlpenc.Spans
		for k, s := range request {
			each[k] = encode(&groups, s)
			all = otlpenc.Spans{Group: each[k].Group, Bytes: append(all.Bytes, each[k].Bytes...), Count: k + 1}
		}
		spans, encoded, joined = append(spans, request), append(encoded, each), append(joined, all)
	}
	for name, accept := range map[string]func(r *requests.Recent, i int){
		"OnEnd": func(r *requests.Recent, i int) {
			for _, s := range spans[i] {
				r.OnEnd(s)
			}
		},
		"Accept": func(r *requests.Recent, i int) {
			for _, s := range encoded[i] {
				r.Accept(s)
			}
		},
		"Accept of all at once": func(r *requests.Recent, i int) { r.Accept(joined[i]) },
		"Accept after a request was looked for": func(r *requests.Recent, i int) {
			r.Snapshot(trace.TraceID{0xff}, trace.SpanID{1})
			r.Accept(joined[i])
		},
	} {
		r, i := requests.NewRecent(requests.Config{}), 0
		one := func() {
			accept(r, i)
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

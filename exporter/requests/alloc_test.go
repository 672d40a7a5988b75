//go:build !race

// The race detector allocates itself.

package requests

import (
	"testing"

	"github.com/perfline/perfline/exporter/otlpenc"
)

// Requests that go leave their memory to the next ones.
func TestAllocAccept(t *testing.T) {
	var groups otlpenc.Groups
	var all [][3]otlpenc.Spans
	for i := range 3000 {
		all = append(all, [3]otlpenc.Spans{
			encode(&groups, span(i, 2, 1, "load", 0, ms, ofText(i%100))),
			encode(&groups, span(i, 3, 1, "render", 0, ms, event("row", ms), ofText(200))),
			encode(&groups, span(i, 1, 0, "GET /products/{id}", 0, ms, event("miss", ms), ofText(i%400))),
		})
	}
	r := NewRecent(Config{})
	i := 0
	one := func() {
		for _, s := range all[i] {
			r.Accept(s)
		}
		i++
	}
	for range 1000 {
		one()
	}
	if n := testing.AllocsPerRun(1900, one); n > 0 {
		t.Errorf("%v allocations for each request, want 0", n)
	}
}

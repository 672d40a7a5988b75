//go:build !race

package tracelog_test

import (
	"io"
	rt "runtime/trace"
	"testing"

	"github.com/perfline/perfline/internal/tracelog"
)

// Notes allocate nothing.
func TestAllocNotes(t *testing.T) {
	if tracelog.Enabled() {
		t.Skip("the execution tracer is in use")
	}
	if err := rt.Start(io.Discard); err != nil {
		t.Fatal(err)
	}
	defer rt.Stop()
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() {
		tracelog.Root(ctx, span, span.SpanID(), "GET")
		tracelog.Start(ctx, span.SpanID(), "sql")
		tracelog.Inner(span.SpanID(), 1<<63, 1<<61, 1<<62, "sql")
		tracelog.Within(span.SpanID(), span, "sql")
		tracelog.End(span.SpanID(), "sql")
		tracelog.RootEnd(ctx, span, span.SpanID(), "GET")
	}); n > 0 {
		t.Errorf("six notes allocate %v times", n)
	}
}

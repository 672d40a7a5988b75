package tracelog_test

import (
	"context"
	"io"
	rt "runtime/trace"
	"testing"

	"github.com/perfline/perfline/internal/tracelog"
)

// A root takes two notes and a task while an execution trace is written. Other spans take two notes, one, or none.
func BenchmarkNotes(b *testing.B) {
	if tracelog.Enabled() {
		b.Skip("the execution tracer is in use")
	}
	if err := rt.Start(io.Discard); err != nil {
		b.Fatal(err)
	}
	defer rt.Stop()
	b.Run("root", func(b *testing.B) {
		for b.Loop() {
			ctx, task := rt.NewTask(context.Background(), "GET")
			tracelog.Root(ctx, span, span.SpanID(), "GET")
			tracelog.RootEnd(ctx, span, span.SpanID(), "GET /items/{id}")
			task.End()
		}
	})
	b.Run("task", func(b *testing.B) {
		for b.Loop() {
			_, task := rt.NewTask(context.Background(), "GET")
			task.End()
		}
	})
	ctx, task := rt.NewTask(context.Background(), "GET")
	defer task.End()
	b.Run("span", func(b *testing.B) {
		for b.Loop() {
			tracelog.Start(ctx, span.SpanID(), "sql.conn.query")
			tracelog.End(span.SpanID(), "sql.conn.query")
		}
	})
	b.Run("inner", func(b *testing.B) {
		for b.Loop() {
			tracelog.Inner(span.SpanID(), 42, 3, 5000000, "sql.conn.query")
		}
	})
	b.Run("log", func(b *testing.B) {
		for b.Loop() {
			rt.Log(ctx, "perfline.start", "0123456789abcdef sql.conn.query")
		}
	})
}

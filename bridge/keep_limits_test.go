package bridge_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
)

// The policy recognizes streams and jobs although their spans have no room for the attribute.
func TestKeepWithAttributeLimits(t *testing.T) {
	for _, limit := range []string{"0", "1", "128", "-1"} {
		t.Run(limit, func(t *testing.T) {
			t.Setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", limit)
			synctest.Test(t, func(t *testing.T) {
				r := newKeepRig(t, bridge.KeepPolicy{}, nil)
				stream := func(is ...bool) {
					r.serve("GET /", time.Hour, func(_ context.Context, s trace.Span) {
						s.SetAttributes(attribute.String("a", "b"))
						for _, is := range is {
							s.SetAttributes(attribute.Bool(record.StreamKey, is))
						}
					})
				}
				stream(true)
				stream(false, true)
				if n := r.provider.RequestCounts(); n["slow"] != 0 || n["other"] != 2 {
					t.Errorf("%v, want two streams, which are not slow", n)
				}
				stream(true, false)
				if n := r.provider.RequestCounts(); n["slow"] != 1 {
					t.Errorf("%v, want one that is slow, and is no stream in the end", n)
				}
				_, job := marks.StartJob(r.ctx, "nightly", slog.String("a", "b"))
				time.Sleep(time.Hour)
				job.End()
				if n := r.provider.RequestCounts(); n["slow"] != 2 {
					t.Errorf("%v, want a slow job", n)
				}
			})
		})
	}
}

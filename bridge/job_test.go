package bridge_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge/bridgetest"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// A job is a root span of its own, wherever it begins, and what it does is below it.
func TestStartJob(t *testing.T) {
	for name, rec := range map[string]*bridgetest.Recorder{"perfline's provider": bridgetest.New(t), "the SDK's": bridgetest.Over(t, sdktrace.NewTracerProvider())} {
		t.Run(name, func(t *testing.T) {
			background := rec.Context(context.Background())
			request, around := marks.Start(background, "request")
			child := observer.NewContext(background, rec.Timeline().NewChild())
			for where, ctx := range map[string]context.Context{"background": background, "request": request, "child": child} {
				ctx, job := marks.StartJob(ctx, "job in "+where)
				marks.Mark(ctx, "step")
				marks.Time(ctx, "part").End()
				job.End(slog.Int("n", 1))
			}
			around.End()
			for _, where := range []string{"background", "request", "child"} {
				s := rec.Span("job in " + where)
				if s.SpanStub.Parent.IsValid() || s.Parent != nil || !s.Attr("perfline.job").AsBool() || s.Attr("n").AsInt64() != 1 {
					t.Errorf("%s has the parent %v and the attributes %v, want none, and perfline.job and n", s.Name, s.SpanStub.Parent, s.Attributes)
				}
				if len(s.Events) != 1 || len(s.Children) != 1 || s.Children[0].Name != "part" {
					t.Errorf("%s has the events %v and %d children, want the mark and the measure", s.Name, s.Events, len(s.Children))
				}
			}
			if r := rec.Span("request"); slices.Contains(r.Attributes, attribute.Bool("perfline.job", true)) || len(r.Children) != 0 {
				t.Errorf("the request has the attributes %v and %d children, want none", r.Attributes, len(r.Children))
			}
		})
	}
	ctx, job := marks.StartJob(nil, "without a context") //nolint:staticcheck // nil is as good as an empty one
	if job.End(); ctx == nil {
		t.Error("StartJob returns no context")
	}
}

package spanlabels_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/spanlabels"
)

// around is a provider of other code.
type around struct{ trace.TracerProvider }

// OpenTelemetry's global provider forwards to the first provider that is set. A wrapper around it that is set there makes spans, or none, and
// the program goes on. Each case has a process of its own.
func TestAroundTheGlobalProvider(t *testing.T) {
	const variable = "PERFLINE_TEST_AROUND_GLOBAL"
	remote := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	wrapped := func() trace.TracerProvider { return spanlabels.WrapTracerProvider(otel.GetTracerProvider()) }
	for _, c := range []struct {
		name string
		set  func() trace.TracerProvider // what is set globally; nil: nothing
		none bool                        // OpenTelemetry makes no spans from then on, until another provider is set
	}{
		{"wrapped", wrapped, true},
		{"not set", nil, false},
		{"wrapped twice", func() trace.TracerProvider { return spanlabels.WrapTracerProvider(wrapped()) }, true},
		{"wrapped by others inside", func() trace.TracerProvider { return spanlabels.WrapTracerProvider(around{otel.GetTracerProvider()}) }, true},
		{"wrapped by others outside", func() trace.TracerProvider { return around{wrapped()} }, true},
		{"set twice", func() trace.TracerProvider { otel.SetTracerProvider(wrapped()); return wrapped() }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if os.Getenv(variable) != c.name {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a process that hangs ends then
				defer cancel()
				cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
				cmd.Env = append(os.Environ(), variable+"="+c.name)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
				return
			}
			var reports []string
			otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { reports = append(reports, err.Error()) }))
			early, own := otel.Tracer("early"), wrapped()
			ownTracer := own.Tracer("own")
			if c.set != nil {
				otel.SetTracerProvider(c.set())
			}
			for name, tracer := range map[string]trace.Tracer{"early": early, "own": ownTracer, "late": otel.Tracer("late")} {
				ctx, span := tracer.Start(trace.ContextWithSpanContext(t.Context(), remote), "none")
				if span.IsRecording() || !trace.SpanContextFromContext(ctx).Equal(remote) {
					t.Errorf("%s: a span %v", name, trace.SpanContextFromContext(ctx))
				}
				span.End()
			}
			if c.none != (len(reports) > 0) || c.none && !strings.Contains(reports[0], "set a provider before") {
				t.Errorf("the reports are %q", reports)
			}
			sdk := sdktrace.NewTracerProvider()
			otel.SetTracerProvider(sdk)
			for name, tracer := range map[string]trace.Tracer{"early": early, "own": ownTracer, "late": otel.Tracer("late")} {
				ctx, span := tracer.Start(t.Context(), "outer")
				inner, child := tracer.Start(ctx, "inner")
				if !span.IsRecording() || !child.IsRecording() || !trace.SpanFromContext(inner).IsRecording() || child.SpanContext().TraceID() != span.SpanContext().TraceID() {
					t.Errorf("%s: no spans of the provider that was set", name)
				}
				child.End()
				span.End()
			}
		})
	}
}

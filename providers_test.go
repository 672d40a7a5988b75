package perfline_test

import (
	"bytes"
	"context"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline"
)

// A starter starts a pipeline with a timeline of its own, which the context carries, and a log of its own.
type starter func(*testing.T, perfline.Config) (*perfline.Pipeline, context.Context, *bytes.Buffer)

// overBoth runs a test over the provider that Start makes, and over one of the SDK that the program makes and Start
// joins. The latter reads the variables of samplers and limits as the former does.
func overBoth(t *testing.T, test func(*testing.T, starter)) {
	t.Helper()
	t.Run("perfline", func(t *testing.T) { test(t, start) })
	t.Run("SDK", func(t *testing.T) { test(t, startJoined) })
}

// startJoined is start with a provider of the SDK, which has the sampler of c.
func startJoined(t *testing.T, c perfline.Config) (*perfline.Pipeline, context.Context, *bytes.Buffer) {
	t.Helper()
	c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(c.Sampler))
	c.Sampler = nil
	t.Cleanup(func() {
		if err := c.TracerProvider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return start(t, c)
}

package bridgehttp_test

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/observer"
)

// A provider is what the SDK's provider and perfline's have in common.
type provider interface {
	trace.TracerProvider
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

// own selects perfline's provider for rigs.
var own = flag.Bool("own", false, "rigs have perfline's own provider")

// newProvider returns a provider whose spans and a timeline's marks and measures go to a processor. A nil sampler
// is the default.
func newProvider(t *testing.T, tl *observer.Timeline, sampler sdktrace.Sampler, to sdktrace.SpanProcessor) provider {
	t.Helper()
	if !*own {
		proc := bridge.NewProcessor(to, bridge.WithTimeline(tl))
		tp := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(proc))
		proc.Bind(tp)
		return tp
	}
	tp := bridge.NewTracerProvider(bridge.TracerProviderConfig{Sampler: sampler, Processors: []sdktrace.SpanProcessor{to}})
	stop, err := bridge.Sync(tp, bridge.WithTimeline(tl))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return tp
}

// The tests of this package hold over perfline's provider, too. They run in a process of their own.
func TestOverOwnProvider(t *testing.T) {
	// Spans of others are not on the request's timeline there.
	const skip = "^(TestOverOwnProvider|TestServerTimingOfSpans)$"
	out, err := exec.CommandContext(t.Context(), os.Args[0], "-own", "-test.skip", skip).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

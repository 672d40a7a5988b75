// Package bothproviders runs a package's tests over the SDK's provider and then over perfline's. It is for tests. A package
// that imports it has the flag -own.
package bothproviders

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

// A Provider is the SDK's or perfline's.
type Provider interface {
	trace.TracerProvider
	ForceFlush(ctx context.Context) error
	Shutdown(ctx context.Context) error
}

var own = flag.Bool("own", false, "test over perfline's own provider")

// New returns the provider to test. Its spans and the timeline's marks and measures go to a processor. A nil sampler is
// the default.
func New(t *testing.T, tl *observer.Timeline, sampler sdktrace.Sampler, to sdktrace.SpanProcessor) Provider {
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

// Again runs the package's tests over perfline's provider, in a process of their own, without the tests that skip matches.
func Again(t *testing.T, skip string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), os.Args[0], "-own", "-test.skip", skip).CombinedOutput(); err != nil { //nolint:gosec // it is this program
		t.Errorf("%v\n%s", err, out)
	}
}

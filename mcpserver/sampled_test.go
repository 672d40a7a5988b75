package mcpserver_test

import (
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/mcpserver"
)

// Beside a provider of the SDK, the agent learns which requests are missing.
func TestSampledOnly(t *testing.T) {
	for _, sdk := range []bool{false, true} {
		c := remote
		if sdk {
			c.TracerProvider = sdktrace.NewTracerProvider()
			t.Cleanup(func() { _ = c.TracerProvider.Shutdown(t.Context()) })
		}
		p := start(t, c)
		a := connect(t, mount(t, mcpserver.Handler(p.pl, quiet(mcpserver.Config{}))).URL)
		if text := a.ask("list_routes", nil); strings.Contains(text, "Only sampled requests are here") != sdk {
			t.Errorf("beside the SDK %v, list_routes says %s", sdk, text)
		}
	}
}

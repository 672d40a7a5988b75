package exporter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/exporter"
)

// TestDeliveryBatchesWithTheirGroups has spans whose resource and scopes are larger than they. The bound of a
// request counts these, too.
func TestDeliveryBatchesWithTheirGroups(t *testing.T) {
	large := resource.NewSchemaless(attribute.String("large", strings.Repeat("r", 1<<20+1)))
	for _, c := range []struct {
		name     string
		resource *resource.Resource
		scope    int // bytes of its attributes
		spans    int
	}{
		{"scopes of 3 kB", nil, 3000, 512},
		{"scopes of 5 kB in a resource over 1 MiB", large, 5000, 512},
		{"scopes of 30 kB", nil, 30_000, 512},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &receiver{answer: fine}
			d, err := exporter.New(exporter.Config{QueueBytes: 100 << 20, Sender: senderFunc(func(ctx context.Context, body []byte) exporter.Answer {
				before := r.taken()
				a := r.Send(ctx, body)
				if n := r.taken() - before; n > 1 && len(body) > 3<<20 {
					t.Errorf("%d spans are in a request of %d bytes", n, len(body))
				}
				return a
			})})
			if err != nil {
				t.Fatal(err)
			}
			for i := range c.spans {
				s := tracetest.SpanStubFromReadOnlySpan(sampled)
				s.Resource = c.resource
				s.InstrumentationScope.Name = fmt.Sprint("scope ", i)
				s.InstrumentationScope.Attributes = attribute.NewSet(attribute.String("text", strings.Repeat("s", c.scope)))
				d.OnEnd(s.Snapshot())
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // a request of 1 MiB for every two spans
			defer cancel()
			if err := d.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			if r.taken() != c.spans {
				t.Errorf("%d of %d spans arrived", r.taken(), c.spans)
			}
		})
	}
}

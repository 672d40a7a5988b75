package exporter_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/otlpenc"
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
		{"scopes of 5 kB in a resource over 1 MiB", large, 5000, 16},
		{"scopes of 30 kB", nil, 30_000, 150},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &receiver{decode: spanNames, answer: fine}
				d, err := exporter.NewDelivery(exporter.Config{QueueBytes: 100 << 20, Sender: senderFunc(func(ctx context.Context, body []byte) exporter.Answer {
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
				if err := d.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if r.taken() != c.spans {
					t.Errorf("%d of %d spans arrived", r.taken(), c.spans)
				}
			})
		})
	}
}

// Items that come together are cut where a request has no room for more.
func TestDeliveryCutsWhatComesTogether(t *testing.T) {
	eachSignal(t, func(t *testing.T, s signal) {
		for _, c := range []struct {
			name         string
			items, size  int
			batch        string
			requests, at int // at most as many requests, and items in one
		}{
			{"by the number of items", 512, 100, "100", 7, 100},
			{"by bytes", 10, 400_000, "512", 2, 7},
			{"one that is too large travels alone", 1, 4 << 20, "512", 1, 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				t.Setenv(s.variables+"MAX_EXPORT_BATCH_SIZE", c.batch)
				synctest.Test(t, func(t *testing.T) {
					r := &receiver{decode: s.names, answer: fine}
					requests := 0
					d, err := s.start(exporter.Config{QueueBytes: 100 << 20, Sender: senderFunc(func(ctx context.Context, body []byte) exporter.Answer {
						requests++
						before := r.taken()
						a := r.Send(ctx, body)
						if n := r.taken() - before; n > c.at || n > 1 && len(body) > 3<<20 {
							t.Errorf("%d items in %d bytes are in a request", n, len(body))
						}
						return a
					})})
					if err != nil {
						t.Fatal(err)
					}
					d.accept(slices.Repeat([]string{strings.Repeat("n", c.size)}, c.items)...)
					if err := d.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
					if r.taken() != c.items || requests > c.requests {
						t.Errorf("%d of %d items arrived in %d requests, want %d or fewer", r.taken(), c.items, requests, c.requests)
					}
					if b := d.Stats(); b.Accepted != uint64(c.items) || b.Delivered != b.Accepted {
						t.Errorf("stats are %+v", b)
					}
				})
			})
		}
	})
}

// Spans of many traces that were written one after the other wait as one item, and all of them arrive.
func TestDeliveryJoinsSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const items, overhead = 12, 48
		r := &receiver{decode: spanNames, answer: fine}
		d, err := exporter.NewDelivery(exporter.Config{Sender: r})
		if err != nil {
			t.Fatal(err)
		}
		var groups otlpenc.Groups
		var w otlpenc.Writer
		one, bytes := encode(&groups, sampled), 0
		var all []bridge.Spans
		for range items {
			all = append(all, write(&w, one))
			bytes += len(one.Bytes)
		}
		d.Accept(all)
		if s := d.Stats(); s.Pending != items || s.PendingBytes != bytes+overhead {
			t.Errorf("%d spans wait in %d bytes, want %d in %d", s.Pending, s.PendingBytes, items, bytes+overhead)
		}
		if err := d.Shutdown(t.Context()); err != nil || r.taken() != items {
			t.Errorf("%d of %d spans arrived: %v", r.taken(), items, err)
		}
	})
}

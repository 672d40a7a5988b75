package bridgegrpc

import (
	"context"
	"maps"
	"slices"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc/metadata"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/bridge/internal/serving"
	"github.com/perfline/perfline/internal/record"
)

// incoming reads the metadata of a call on a server key by key, because gRPC copies the whole
// metadata for a reader of all keys.
type incoming struct {
	ctx context.Context //nolint:containedctx // contains the metadata, only during Extract
}

var _ propagation.ValuesGetter = incoming{}

func (c incoming) Get(key string) string { return received.Field(key, c.Values(key)) }

func (c incoming) Values(key string) []string {
	values := metadata.ValueFromIncomingContext(c.ctx, key)
	if key == "tracestate" {
		return received.TraceState(values)
	}
	return values
}

func (c incoming) Set(string, string) {} // propagators only read received metadata

func (c incoming) Keys() []string {
	md, _ := metadata.FromIncomingContext(c.ctx)
	return slices.Collect(maps.Keys(md))
}

// outgoing is the metadata of a client's call.
type outgoing metadata.MD

var _ propagation.TextMapCarrier = outgoing{}

func (c outgoing) Get(key string) string { return received.First(metadata.MD(c).Get(key)) }

// Set replaces all values of key. A proxy may copy metadata from the proxy's caller, so key may
// already contain values.
func (c outgoing) Set(key, value string) { metadata.MD(c).Set(key, value) }

func (c outgoing) Keys() []string { return slices.Collect(maps.Keys(c)) }

// extract returns ctx with the values that the propagators read from the call's metadata.
func extract(ctx context.Context, tl *record.Timeline,
	p propagation.TextMapPropagator) (extracted context.Context) {
	if !tl.Try(serving.OfPropagators, func() { extracted = p.Extract(ctx, incoming{ctx}) }) { //nolint:fatcontext // once
		return ctx
	}
	return extracted
}

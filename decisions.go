package perfline

import (
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/keep"
	"github.com/perfline/perfline/internal/local"
	"github.com/perfline/perfline/internal/otlpenc"
)

// decisions applies a keep policy to the requests of a provider of the SDK. The provider's sampler
// has already dropped the unsampled requests, so that the policy only finds slow and failed
// requests among the recorded requests.
type decisions struct {
	keeper  *keep.Keeper
	slow    onSlow // may be nil
	reasons [local.KeepReasons]atomic.Uint64
	over    atomic.Uint64
}

// decide sets the reason to keep the request of an ended local root. d may be nil.
func (d *decisions) decide(root *local.Root, s sdktrace.ReadOnlySpan) {
	if d == nil || root.Class > local.Inner {
		return
	}
	decision := d.keeper.Decide(&keep.Request{
		Class: root.Class, Name: root.Name, Took: root.Took(), Failed: root.Failed,
		Chosen: isChosen(s.Attributes()),
	})
	root.Keep = decision.Reason
	if decision.OverCeiling != local.NotKept {
		d.over.Add(1)
	} else {
		d.reasons[decision.Reason].Add(1)
	}
	if decision.Slow && d.slow != nil {
		d.slow(*bridge.Spans(otlpenc.Spans{}.WithRoot(root)).Root(), s.SpanContext().IsSampled())
	}
}

// isChosen reports whether the middleware found a call of marks.Keep in the request.
func isChosen(attrs []attribute.KeyValue) bool {
	for _, kv := range attrs {
		if kv.Key == local.KeepReasonKey {
			return kv.Value.AsString() == local.KeptForProgram.String()
		}
	}
	return false
}

// counts returns the decisions by the words of [bridge.TracerProvider.RequestCounts].
func (d *decisions) counts() map[string]uint64 {
	n := map[string]uint64{
		"over_ceiling": d.over.Load(), "other": d.reasons[local.NotKept].Load(),
	}
	for reason := local.NotKept + 1; reason < local.KeepReasons; reason++ {
		n[reason.String()] = d.reasons[reason].Load()
	}
	return n
}

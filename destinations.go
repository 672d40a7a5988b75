package perfline

import (
	"context"
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/keep"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/within"
)

// destinations are the outputs of ended spans. perfline's provider calls each output. A provider of
// the SDK calls destinations as one span processor.
type destinations struct {
	recent   *requests.Recent
	encoded  *exporter.Delivery    // nil unless spans go over OTLP
	snapshot delivery              // nil unless spans go to another exporter
	logs     *exporter.LogDelivery // nil unless log records go over OTLP

	// The following fields are set only beside a provider of the SDK.
	decisions *decisions    // nil without a policy
	output    bridge.Output // encoded, or annotator before encoded; nil without encoded
	annotator *annotator    // nil unless encoded and Config.Waits are set

	encoder otlpenc.Groups
	lists   sync.Pool // of *[1]bridge.Spans: the lists of OnEnd
	removed atomic.Bool
}

// decideBeside lets d decide about the requests of c.TracerProvider, and ask the waits recorder for
// slow requests. Spans that d exports carry the recorder's results.
func (d *destinations) decideBeside(c Config) {
	if d.encoded != nil {
		d.output = d.encoded
	}
	if c.Keep.Off {
		return
	}
	policy, table := keep.Policy(c.Keep), d.recent.Routes()
	table.SetSlowRule(policy.SlowRule(c.Waits != nil))
	d.decisions = &decisions{keeper: keep.New(policy, table)}
	switch {
	case c.Waits == nil:
	case d.encoded == nil:
		d.decisions.slow = func(root bridge.Root) { c.Waits.Slow(root) }
	default:
		d.annotator = newAnnotator(d.encoded, c.Waits)
		d.output = d.annotator
		d.decisions.slow = func(root bridge.Root) { d.annotator.onSlow(root, true) }
	}
}

func (d *destinations) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	d.recent.OnStart(ctx, s)
	if d.snapshot != nil {
		d.snapshot.OnStart(ctx, s)
	}
}

// OnEnd encodes a span once. The requests in memory and the delivery share the encoded span. For a
// local root, OnEnd first decides whether the policy keeps the request.
func (d *destinations) OnEnd(s sdktrace.ReadOnlySpan) {
	d.encoder.Encode(s, func(encoded otlpenc.Spans) {
		list, ok := d.lists.Get().(*[1]bridge.Spans)
		if !ok {
			list = new([1]bridge.Spans)
		}
		if root := encoded.Root(); root != nil {
			d.decisions.decide(root, s)
			d.recent.Routes().Add(*root)
		}
		list[0] = bridge.Spans(encoded)
		d.recent.Accept(list[:])
		switch {
		case d.snapshot != nil:
			d.snapshot.OnEnd(s)
		case d.output != nil && s.SpanContext().IsSampled():
			d.output.Accept(list[:])
		}
		list[0] = bridge.Spans{}
		d.lists.Put(list)
	})
}

// ForceFlush flushes spans and log records at the same time.
func (d *destinations) ForceFlush(ctx context.Context) error {
	r := within.Begin(ctx, 2*within.Grace)
	if d.logs != nil {
		r.Go("perfline: the delivery of log records", d.logs.ForceFlush)
	}
	if d.output != nil {
		r.Do("perfline: the delivery of spans", d.output.ForceFlush)
	} else if d.snapshot != nil {
		r.Do("perfline: the delivery of spans", d.snapshot.ForceFlush)
	}
	return r.End()
}

func (d *destinations) Shutdown(ctx context.Context) error {
	if d.removed.Load() {
		return nil
	}
	r := within.Begin(ctx, 2*within.Grace)
	if d.logs != nil {
		r.Go("perfline: the delivery of log records", d.logs.Shutdown)
	}
	r.Do("perfline: the requests in memory", d.recent.Shutdown)
	if d.output != nil {
		r.Do("perfline: the delivery of spans", d.output.Shutdown)
	} else if to := d.backend(); to != nil {
		r.Do("perfline: the delivery of spans", to.Shutdown)
	}
	return r.End()
}

// backend returns the delivery to the backend, or nil.
func (d *destinations) backend() delivery {
	if d.encoded != nil {
		return d.encoded
	}
	return d.snapshot
}

// removeFrom unregisters d from a provider after d's Shutdown. The provider shuts d down once more,
// without effect.
func (d *destinations) removeFrom(p *sdktrace.TracerProvider) {
	d.removed.Store(true)
	p.UnregisterSpanProcessor(d)
}

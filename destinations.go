package perfline

import (
	"context"
	"sync"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/keep"
	"github.com/perfline/perfline/internal/local"
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
	spool    *spoolOutput          // nil unless there is a black box and no exporter
	delayed  *spoolOutput          // nil unless there is a black box and encoded

	decisions *decisions    // nil without a policy, and without a provider of the SDK
	output    bridge.Output // encoded, or annotator before encoded; nil without encoded
	annotator *annotator    // nil unless encoded and Config.Waits are set
	causes    *causeLog     // nil unless another exporter has the spans and Config.Waits is set
	onSlow    onSlow        // nil without Config.Waits

	encoder otlpenc.Groups
	lists   sync.Pool // of *[1]bridge.Spans: the lists of OnEnd
	removed atomic.Bool
}

// An onSlow asks the waits recorder for the result of a slow request that has ended. exported
// reports whether exporters receive the request's spans.
type onSlow func(_ bridge.Root, exported bool)

// explain lets d ask the waits recorder for slow requests. Spans that d exports carry the
// recorder's results. If another exporter has the spans, the log has the causes.
func (d *destinations) explain(c Config) {
	if d.encoded != nil {
		d.output = d.encoded
	}
	if c.Waits == nil {
		return
	}
	ask := func(root bridge.Root, _ bool) { c.Waits.Slow(root) }
	switch {
	case d.encoded != nil:
		d.annotator = newAnnotator(d.encoded, c.Waits, d.delayed)
		d.output, ask = d.annotator, d.annotator.onSlow
	case c.TracerProvider != nil || d.snapshot != nil:
		d.causes = newCauseLog(c.Logger, c.Waits)
		ask = d.causes.onSlow
	}
	d.onSlow = func(root bridge.Root, exported bool) {
		// The outer request's result explains both requests. Only the exported spans of the inner
		// request need a result of their own.
		if root.Class != local.Inner.String() || exported && d.annotator != nil {
			ask(root, exported)
		}
	}
}

// decideBeside lets d decide about the requests of c.TracerProvider.
func (d *destinations) decideBeside(c Config) {
	if c.Keep.Off {
		return
	}
	policy, table := keep.Policy(c.Keep), d.recent.Routes()
	table.SetSlowRule(policy.SlowRule(c.Waits != nil))
	d.decisions = &decisions{keeper: keep.New(policy, table), slow: d.onSlow}
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

// Package otlptrace hands spans to clients that take them as they are, because perfline encodes spans itself. The rest is
// OpenTelemetry's exporter.
package otlptrace

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/internal/tracetransform"
	tracesdk "go.opentelemetry.io/otel/sdk/trace"
)

var errAlreadyStarted = errors.New("already started")

// A spansClient takes spans, in place of the messages of UploadTraces.
type spansClient interface {
	ExportSpans(context.Context, []tracesdk.ReadOnlySpan) error
}

type Exporter struct {
	client Client

	mu      sync.Mutex
	started bool

	startOnce, stopOnce sync.Once
}

var _ tracesdk.SpanExporter = (*Exporter)(nil)

func New(ctx context.Context, client Client) (*Exporter, error) {
	e := NewUnstarted(client)
	if err := e.Start(ctx); err != nil {
		return nil, err
	}
	return e, nil
}

func NewUnstarted(client Client) *Exporter { return &Exporter{client: client} }

func (e *Exporter) ExportSpans(ctx context.Context, spans []tracesdk.ReadOnlySpan) (err error) {
	if len(spans) == 0 {
		return nil
	}
	if c, ok := e.client.(spansClient); ok {
		err = c.ExportSpans(ctx, spans)
	} else {
		err = e.client.UploadTraces(ctx, tracetransform.Spans(spans))
	}
	if err != nil {
		return fmt.Errorf("traces export: %w", err)
	}
	return nil
}

func (e *Exporter) Start(ctx context.Context) error {
	err := errAlreadyStarted
	e.startOnce.Do(func() {
		err = e.client.Start(ctx)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.started = true
	})
	return err
}

func (e *Exporter) Shutdown(ctx context.Context) (err error) {
	e.mu.Lock()
	started := e.started
	e.mu.Unlock()
	if started {
		e.stopOnce.Do(func() { err = e.client.Stop(ctx) })
	}
	return err
}

func (e *Exporter) MarshalLog() any {
	return struct{ Type, Client string }{"otlptrace", fmt.Sprintf("%T", e.client)}
}

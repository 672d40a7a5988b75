package main

import (
	"context"
	"errors"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/integration/trial/internal/service"
)

// The names of components, as reports and pictures have them.
const (
	jaegerName    = "Jaeger"
	collectorName = "Collector"
	pyroscopeName = "Pyroscope"
)

// A bench is the backends that a service delivers to.
type bench struct {
	components []*component // of which the last is the one that a schedule of one backend has fail
	jaeger     *backend.Jaeger
	env        []string // of the service
	spans      bool     // the bench takes spans
	stops      []func() error
}

// A start adds backends to a bench.
type start func(context.Context, *bench) error

// add adds a backend behind a proxy.
func (b *bench) add(ctx context.Context, name string, p process, address string) (*component, error) {
	c := &component{name: name, process: p}
	b.stops = append(b.stops, c.stop)
	var err error
	if c.proxy, err = backend.NewProxy(ctx, address); err != nil {
		return nil, err
	}
	b.stops = append(b.stops, c.proxy.Close)
	b.components = append(b.components, c)
	return c, nil
}

func (b *bench) stop() error {
	var err error
	for i := len(b.stops) - 1; i >= 0; i-- {
		err = errors.Join(err, b.stops[i]())
	}
	return err
}

// failing returns the component that fails where only one does.
func (b *bench) failing() *component { return b.components[len(b.components)-1] }

// book returns the book of what the bench takes: spans, or else profiles.
func (b *bench) book(s perfline.Stats) service.Book {
	if b.spans {
		return service.Spans(s)
	}
	return service.Profiles(s)
}

// addJaeger adds a Jaeger that keeps spans in files: they can be counted after it was killed.
func addJaeger(ctx context.Context, b *bench) error {
	return addJaegerOnDisk(ctx, b, (*backend.Jaeger).OTLPGRPC, "grpc")
}

func addJaegerByHTTP(ctx context.Context, b *bench) error {
	return addJaegerOnDisk(ctx, b, (*backend.Jaeger).OTLPHTTP, "http/protobuf")
}

func addJaegerOnDisk(ctx context.Context, b *bench, endpoint func(*backend.Jaeger) string, protocol string) (err error) {
	if b.jaeger, err = backend.StartJaegerOnDisk(ctx); err != nil {
		return err
	}
	c, err := b.add(ctx, jaegerName, b.jaeger, endpoint(b.jaeger))
	if err != nil {
		return err
	}
	b.takesSpans(c)
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol)
	return nil
}

// addCollector adds a Jaeger, and a Collector before it.
func addCollector(ctx context.Context, b *bench) (err error) {
	if b.jaeger, err = backend.StartJaeger(ctx); err != nil {
		return err
	}
	next, err := b.add(ctx, jaegerName, b.jaeger, b.jaeger.OTLPGRPC())
	if err != nil {
		return err
	}
	p, err := backend.StartCollector(ctx, backend.CollectorConfig{Jaeger: next.proxy.Address()})
	if err != nil {
		return err
	}
	c, err := b.add(ctx, collectorName, p, p.OTLPGRPC())
	if err != nil {
		return err
	}
	c.next = next.proxy
	b.takesSpans(c)
	return nil
}

// takesSpans has the service send its spans to c, to be counted in Jaeger.
func (b *bench) takesSpans(c *component) {
	b.spans = true
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.proxy.URL())
	c.count = func(ctx context.Context, service string, since time.Time) (int, error) {
		return b.jaeger.SpanCountSince(ctx, service, since)
	}
}

func addPyroscope(ctx context.Context, b *bench) error {
	p, err := backend.StartPyroscope(ctx)
	if err != nil {
		return err
	}
	c, err := b.add(ctx, pyroscopeName, p, p.URL())
	if err != nil {
		return err
	}
	b.env = append(b.env, "PYROSCOPE_SERVER_ADDRESS="+c.proxy.URL())
	c.forgets = true
	c.count = func(ctx context.Context, _ string, _ time.Time) (int, error) { return p.Taken(ctx) }
	return nil
}

// addAll adds a Collector, a Jaeger behind it, and a Pyroscope.
func addAll(ctx context.Context, b *bench) error {
	if err := addCollector(ctx, b); err != nil {
		return err
	}
	return addPyroscope(ctx, b)
}

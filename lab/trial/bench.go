package main

import (
	"context"
	"errors"
	"time"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/lab/trial/internal/service"
)

// The names of components, as reports and pictures have them.
const (
	jaegerName    = "Jaeger"
	collectorName = "Collector"
	pyroscopeName = "Pyroscope"
)

// spans are what a flow of spans has, in reports.
const spans = "spans"

// A bench is the backends that a service delivers to.
type bench struct {
	components []*component // of which the last is the one that a schedule of one backend has fail
	jaeger     *backend.Jaeger
	env        []string // of the service
	spans      bool     // the service sends spans
	logs       bool     // the service sends log records
	stops      []func() error
}

// A start adds backends to a bench.
type start func(context.Context, *bench) error

// add adds a backend behind a proxy.
func (b *bench) add(ctx context.Context, name string, p process, address string) (*component,
	error) {
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

// flows returns what the components take.
func (b *bench) flows() []*flow {
	var all []*flow
	for _, c := range b.components {
		all = append(all, c.flows...)
	}
	return all
}

// addJaeger adds a Jaeger that keeps spans in files: they can be counted after it was killed.
func addJaeger(ctx context.Context, b *bench) error {
	return addJaegerOnDisk(ctx, b, (*backend.Jaeger).OTLPGRPC, "grpc")
}

func addJaegerByHTTP(ctx context.Context, b *bench) error {
	return addJaegerOnDisk(ctx, b, (*backend.Jaeger).OTLPHTTP, "http/protobuf")
}

func addJaegerOnDisk(ctx context.Context, b *bench, endpoint func(*backend.Jaeger) string,
	protocol string) (err error) {
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

// addJaegerWithoutLogs adds a Jaeger, which does not know log records, to a service that sends it
// some.
func addJaegerWithoutLogs(ctx context.Context, b *bench) error {
	if err := addJaeger(ctx, b); err != nil {
		return err
	}
	b.takesLogs(b.failing(),
		func(context.Context, string, time.Time) (int, error) { return 0, nil })
	return nil
}

// addCollector adds a Collector, and what it passes spans, log records and profiles on to: a
// Jaeger, and a sink in this process.
func addCollector(ctx context.Context, b *bench) (err error) {
	if b.jaeger, err = backend.StartJaeger(ctx); err != nil {
		return err
	}
	next, err := b.add(ctx, jaegerName, b.jaeger, b.jaeger.OTLPGRPC())
	if err != nil {
		return err
	}
	s, err := newSink(ctx)
	if err != nil {
		return err
	}
	b.stops = append(b.stops, s.stop)
	p, err := backend.StartCollector(ctx,
		backend.CollectorConfig{Jaeger: next.proxy.Address(), Logs: s.url, Profiles: s.url})
	if err != nil {
		return err
	}
	c, err := b.add(ctx, collectorName, p, p.OTLPGRPC())
	if err != nil {
		return err
	}
	c.next = next.proxy
	b.takesSpans(c)
	b.takesLogs(c, s.countRecords)
	b.env = append(b.env, "OTEL_PROFILES_EXPORTER=otlp")
	c.flows = append(c.flows,
		&flow{what: "profiles over OTLP", read: service.OTLPProfiles, count: s.countProfiles})
	return nil
}

// takesSpans has the service send its spans to c, to be counted in Jaeger.
func (b *bench) takesSpans(c *component) {
	b.spans = true
	b.env = append(b.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.proxy.URL())
	c.flows = append(c.flows,
		&flow{what: spans, read: service.Spans,
			count: func(ctx context.Context, service string, since time.Time) (int, error) {
				return b.jaeger.SpanCountSince(ctx, service, since)
			}})
}

// takesLogs has the service send its marks as log records, too, to where its spans go.
func (b *bench) takesLogs(c *component,
	count func(context.Context, string, time.Time) (int, error)) {
	b.logs = true
	b.env = append(b.env, "OTEL_LOGS_EXPORTER=otlp", "PERFLINE_MARKS=both")
	c.flows = append(c.flows, &flow{what: "log records", read: service.LogRecords, count: count})
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
	c.flows = []*flow{{what: "profiles", read: service.Profiles,
		count: func(ctx context.Context, _ string, _ time.Time) (int,
			error) {
			return p.Taken(ctx)
		}}}
	return nil
}

// addAll adds a Collector with what comes after it, and a Pyroscope. Spans are not compared: their
// Jaeger loses them when it is killed.
func addAll(ctx context.Context, b *bench) error {
	if err := addCollector(ctx, b); err != nil {
		return err
	}
	for _, f := range b.flows() {
		if f.what == spans {
			f.count = nil
		}
	}
	return addPyroscope(ctx, b)
}

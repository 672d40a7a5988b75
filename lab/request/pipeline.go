package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/lab/internal/otlp"
	"github.com/perfline/perfline/live"
)

// A setting is what all variants of a comparison have in common.
type setting struct {
	sampler  sdktrace.Sampler
	memory   *otlp.Receiver // takes encoded requests without a network; nil: they go to endpoint
	endpoint string         // of an OTLP receiver over gRPC
}

// A pipeline is a set-up in operation. Only one may be open.
type pipeline struct {
	flush, shutdown func(context.Context) error
	// what the program serves beside its own handler; nil: nothing
	around func(http.Handler) http.Handler
}

// queueSize is so large that no variant drops spans between two flushes.
const queueSize = 1 << 16

// environment removes what the caller's environment says to any of the set-ups, and says to
// all the same.
func environment(gzip bool, queue int) error {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if slices.ContainsFunc([]string{"OTEL_", "PYROSCOPE_", "PERFLINE_", "DD_", "SENTRY_"},
			func(p string) bool { return strings.HasPrefix(name, p) }) {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	err := errors.Join(os.Setenv("OTEL_SERVICE_NAME", "benchmark"),
		os.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", strconv.Itoa(queue)))
	if gzip {
		err = errors.Join(err, os.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"))
	}
	return err
}

// meters returns the meter provider of all variants: with metrics it aggregates, and its sums
// are never read.
func meters(enabled bool) metric.MeterProvider {
	if enabled {
		return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	}
	return noopmetric.NewMeterProvider()
}

func nothing(context.Context, setting) (*pipeline, error) {
	none := func(context.Context) error { return nil }
	return &pipeline{flush: none, shutdown: none}, nil
}

// A delivery makes the processor that the SDK's provider gives its spans to.
type delivery func(context.Context, setting) (sdktrace.SpanProcessor, error)

// sdk is a set-up of OpenTelemetry's SDK. Options register more processors.
func sdk(d delivery, more ...func(*sdktrace.TracerProvider)) opener {
	return func(ctx context.Context, s setting) (*pipeline, error) {
		res, err := detected(ctx)
		if err != nil {
			return nil, err
		}
		processor, err := d(ctx, s)
		if err != nil {
			return nil, err
		}
		p := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithSampler(s.sampler),
			sdktrace.WithSpanProcessor(processor))
		for _, register := range more {
			register(p)
		}
		return global(p), nil
	}
}

// joined joins the default timeline with the SDK's provider.
func joined(p *sdktrace.TracerProvider) {
	p.RegisterSpanProcessor(bridge.NewProcessor(bridge.ProcessorConfig{TracerProvider: p}))
}

// ownProvider is perfline's tracer provider with perfline's exporter, without the rest of perfline.
func ownProvider(ctx context.Context, s setting) (*pipeline, error) {
	res, err := detected(ctx)
	if err != nil {
		return nil, err
	}
	d, err := exporter.NewDelivery(perflineTo(s))
	if err != nil {
		return nil, err
	}
	return global(bridge.NewTracerProvider(bridge.TracerProviderConfig{Resource: res,
		Sampler: s.sampler, Exporters: []bridge.Output{d}})), nil
}

// detected is a resource with the attributes that perfline.Start detects.
func detected(ctx context.Context) (*resource.Resource, error) {
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithOSType(), resource.WithProcessPID(),
		resource.WithProcessExecutableName(), resource.WithProcessRuntimeName(),
		resource.WithProcessRuntimeVersion(),
		resource.WithContainer(), resource.WithService(), resource.WithFromEnv())
}

// A provider is the SDK's or perfline's.
type provider interface {
	trace.TracerProvider
	ForceFlush(context.Context) error
	Shutdown(context.Context) error
}

// global puts a provider into OpenTelemetry's globals.
func global(p provider) *pipeline {
	otel.SetTracerProvider(p)
	otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator(propagation.TraceContext{},
		propagation.Baggage{}))
	return &pipeline{flush: p.ForceFlush, shutdown: cleared(p.Shutdown)}
}

// cleared takes the set-up out of OpenTelemetry's globals after shutdown.
func cleared(shutdown func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		err := shutdown(ctx)
		otel.SetTracerProvider(nooptrace.NewTracerProvider())
		otel.SetTextMapPropagator(propagation.NewCompositeTextMapPropagator())
		return err
	}
}

// batched is the SDK's own delivery.
func batched(ctx context.Context, s setting) (sdktrace.SpanProcessor, error) {
	exporter, err := spanExporter(ctx, s)
	if err != nil {
		return nil, err
	}
	return sdktrace.NewBatchSpanProcessor(exporter), nil
}

func spanExporter(ctx context.Context, s setting) (sdktrace.SpanExporter, error) {
	if s.memory != nil {
		return otlptrace.New(ctx, marshaller{s.memory})
	}
	return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(s.endpoint))
}

// A marshaller is an OTLP client that encodes every request as gRPC does.
type marshaller struct{ to *otlp.Receiver }

func (marshaller) Start(context.Context) error { return nil }
func (marshaller) Stop(context.Context) error  { return nil }

func (m marshaller) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	request, err := proto.Marshal(&collectorpb.ExportTraceServiceRequest{ResourceSpans: spans})
	if err == nil {
		m.to.Take(request)
	}
	return err
}

func perflineStart(keep bridge.KeepPolicy) opener {
	return started(perfline.Config{Keep: keep})
}

// started is a set-up of perfline.Start.
func started(c perfline.Config) opener {
	return func(ctx context.Context, s setting) (*pipeline, error) {
		p, err := startPipeline(ctx, c, s)
		if err != nil {
			return nil, err
		}
		return &pipeline{flush: p.Flush, shutdown: cleared(p.Shutdown)}, nil
	}
}

func startPipeline(ctx context.Context, c perfline.Config, s setting) (*perfline.Pipeline, error) {
	c.Traces, c.Sampler, c.Logger = perflineTo(s), s.sampler,
		slog.New(slog.NewTextHandler(os.Stderr, nil))
	return perfline.Start(ctx, c)
}

// withPage is the README's program: everything that perfline.Start turns on, and the live page.
func withPage(ctx context.Context, s setting) (*pipeline, error) {
	p, err := startPipeline(ctx, perfline.Config{}, s)
	if err != nil {
		return nil, err
	}
	around := func(h http.Handler) http.Handler { return live.Handler(p, live.Config{Next: h}) }
	return &pipeline{p.Flush, cleared(p.Shutdown), around}, nil
}

// ours is perfline's exporter in place of the SDK's two.
func ours(_ context.Context, s setting) (sdktrace.SpanProcessor, error) {
	return exporter.NewDelivery(perflineTo(s))
}

// perflineTo is where perfline's exporter delivers.
func perflineTo(s setting) exporter.Config {
	if s.memory != nil {
		return exporter.Config{Sender: taking{s.memory}}
	}
	return exporter.Config{Endpoint: s.endpoint, Protocol: exporter.GRPC}
}

// taking is the counterpart of a marshaller: requests are encoded already.
type taking struct{ to *otlp.Receiver }

func (t taking) Send(_ context.Context, body []byte) exporter.Answer {
	t.to.Take(body)
	return exporter.Answer{}
}

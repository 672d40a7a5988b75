package contrib_test

import (
	"context"
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A provider is what both providers are.
type provider interface {
	trace.TracerProvider
	Shutdown(context.Context) error
}

// A setup configures a provider. The zero value has the defaults.
type setup struct {
	sampler   sdktrace.Sampler
	limit     int                    // of attributes, events and links; 0 means the defaults
	processor sdktrace.SpanProcessor // before the delivery; nil means none
}

func (s setup) limits() sdktrace.SpanLimits {
	limits := sdktrace.NewSpanLimits()
	if s.limit > 0 {
		limits.AttributeCountLimit, limits.EventCountLimit, limits.LinkCountLimit = s.limit, s.limit, s.limit
		limits.AttributePerEventCountLimit, limits.AttributeValueLengthLimit = 1, 2*s.limit
	}
	return limits
}

var service = resource.NewWithAttributes("https://opentelemetry.io/schemas/1.37.0", attribute.String("service.name", "shop"))

// overSDK returns the SDK's provider with the delivery as a processor.
func overSDK(s setup, d *exporter.Delivery) provider {
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(service), sdktrace.WithRawSpanLimits(s.limits())}
	if s.sampler != nil {
		options = append(options, sdktrace.WithSampler(s.sampler))
	}
	if s.processor != nil {
		options = append(options, sdktrace.WithSpanProcessor(s.processor))
	}
	return sdktrace.NewTracerProvider(append(options, sdktrace.WithSpanProcessor(d))...)
}

// overOwn returns perfline's provider with the delivery as an output.
func overOwn(s setup, d *exporter.Delivery) provider {
	c := bridge.TracerProviderConfig{Sampler: s.sampler, Resource: service, Limits: new(s.limits()), Exporters: []bridge.Output{d}}
	if s.processor != nil {
		c.Processors = []sdktrace.SpanProcessor{s.processor}
	}
	return bridge.NewTracerProvider(c)
}

// A receiver takes requests of OTLP and keeps them. The delivery calls it from one goroutine, and no more after Shutdown.
type receiver struct{ sent []*tracepb.ResourceSpans }

func (r *receiver) Send(_ context.Context, body []byte) exporter.Answer {
	var q coltracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &q); err != nil {
		return exporter.Answer{Err: err}
	}
	r.sent = append(r.sent, q.GetResourceSpans()...)
	return exporter.Answer{}
}

// A scenario is work that instrumentation of others sees.
type scenario struct {
	name string
	setup
	work func(*testing.T, trace.TracerProvider) // returns when all spans have ended
	want []string                               // the names of the spans that arrive, sorted
}

// arrived runs the scenario over a provider, and returns the spans that arrive, normalized.
func (s scenario) arrived(t *testing.T, over func(setup, *exporter.Delivery) provider) []*tracepb.ResourceSpans {
	t.Helper()
	r := &receiver{}
	d, err := exporter.NewDelivery(exporter.Config{Sender: r})
	if err != nil {
		t.Fatal(err)
	}
	tp := over(s.setup, d)
	s.work(t, tp)
	if err := tp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	all := single(r.sent)
	if stats := d.Stats(); stats.Accepted != uint64(len(all)) || stats.Delivered != stats.Accepted {
		t.Errorf("the books of %d spans: %+v", len(all), stats)
	}
	return normalized(t, all)
}

// same runs each scenario over both providers. The spans that arrive must be equal.
func same(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			want, got := s.arrived(t, overSDK), s.arrived(t, overOwn)
			if names := namesOf(want); !slices.Equal(names, s.want) {
				t.Errorf("over the SDK's provider, spans %q arrive, want %q", names, s.want)
			}
			for _, d := range differences(want, got) {
				t.Error(d)
			}
		})
	}
}

func namesOf(all []*tracepb.ResourceSpans) (names []string) {
	for _, s := range all {
		names = append(names, spanOf(s).GetName())
	}
	slices.Sort(names)
	return names
}

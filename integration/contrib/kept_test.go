package contrib_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
)

// A span of a kept request that the sampler dropped does not record. These are the parts that instrumentation leaves out then; docs/keep.md
// lists them.
func TestKept(t *testing.T) {
	for _, c := range []struct {
		name string
		work func(*testing.T, trace.TracerProvider)
		want []string
	}{
		{"otelhttp, a client and a server", call{handler: http.HandlerFunc(echo)}.work, []string{
			"HTTP POST: is missing", // a local root that is no request; the server's is another one
		}},
		{"otelsql", func(t *testing.T, tp trace.TracerProvider) {
			ctx, span := tp.Tracer("program").Start(t.Context(), "order", trace.WithSpanKind(trace.SpanKindConsumer))
			defer span.End()
			db := database(t, tp)
			defer db.Close()
			statements(ctx, t, db)
		}, []string{"lacks db.query.text", "lacks db.system.name"}},
		{"redisotel", commands(true), []string{
			"redis.dial: is missing", // the pool dials without the request's context
		}},
		{"otelgrpc", unary(codes.NotFound), []string{
			"grpc.testing.TestService/UnaryCall: is missing", // otelgrpc does not end it
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sampled, tentative := recordedBy(t, c.work, true), recordedBy(t, c.work, false)
			if got := missing(sampled, tentative); !slices.Equal(got, c.want) {
				t.Errorf("missing in spans of a kept request:\n%s", strings.Join(got, "\n"))
			}
		})
	}
}

// jobs makes the spans "order" of other tests units of work.
type jobs struct{ trace.TracerProvider }

func (p jobs) Tracer(name string, o ...trace.TracerOption) trace.Tracer {
	return job{p.TracerProvider.Tracer(name, o...)}
}

type job struct{ trace.Tracer }

func (t job) Start(ctx context.Context, name string, o ...trace.SpanStartOption) (context.Context, trace.Span) {
	if name == "order" {
		o = append(o, trace.WithSpanKind(trace.SpanKindConsumer))
	}
	return t.Tracer.Start(ctx, name, o...)
}

// recordedBy returns the spans of work that is sampled, or that a policy keeps.
func recordedBy(t *testing.T, work func(*testing.T, trace.TracerProvider), sampled bool) []otlpenc.Span {
	t.Helper()
	to := &spans{}
	c := bridge.TracerProviderConfig{Sampler: sdktrace.AlwaysSample(), Recorders: []bridge.Output{to}}
	if !sampled {
		c.Sampler, c.Keep = sdktrace.NeverSample(), &bridge.KeepPolicy{Share: 1, PerSecond: -1}
	}
	tp := bridge.NewTracerProvider(c)
	work(t, jobs{tp})
	if err := tp.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	return to.all
}

// spans is an output.
type spans struct {
	mu  sync.Mutex
	all []otlpenc.Span
}

func (o *spans) Accept(all []bridge.Spans) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range all {
		for span, err := range otlpenc.Spans(s).All() {
			if err != nil {
				panic(err)
			}
			o.all = append(o.all, span)
		}
	}
}

func (*spans) ForceFlush(context.Context) error { return nil }
func (*spans) Shutdown(context.Context) error   { return nil }

// missing lists the spans, by name, that a kept request lacks, and what the spans lack that it has.
func missing(sampled, tentative []otlpenc.Span) []string {
	count := func(all []otlpenc.Span, each func(otlpenc.Span) []string) map[string]int {
		n := map[string]int{}
		for _, s := range all {
			for _, what := range each(s) {
				n[s.Name+": "+what]++
			}
		}
		return n
	}
	parts := func(s otlpenc.Span) []string {
		out := []string{"is missing"}
		for _, kv := range s.Attributes {
			out = append(out, "lacks "+string(kv.Key))
		}
		for _, e := range s.Events {
			out = append(out, "lacks the event "+e.Name)
		}
		return append(out, fmt.Sprintf("lacks the status %v", s.Status.Code))
	}
	have := count(tentative, parts)
	var out []string
	for what, n := range count(sampled, parts) {
		name, lack, _ := strings.Cut(what, ": ")
		switch {
		case have[what] >= n:
		case lack == "is missing":
			out = append(out, what)
		case have[name+": is missing"] > 0:
			out = append(out, lack)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

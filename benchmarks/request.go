package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

const requestGroup = "a request with 5 marks and 3 measures, 2 attributes each, to marshalled OTLP"

// marshaller is an OTLP client that writes every message as it would go over the
// wire, and sends it nowhere.
type marshaller struct{ spans, events, bytes uint64 }

func (m *marshaller) Start(context.Context) error { return nil }
func (m *marshaller) Stop(context.Context) error  { return nil }

func (m *marshaller) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	text, err := proto.Marshal(&collectorpb.ExportTraceServiceRequest{ResourceSpans: spans})
	if err != nil {
		return err
	}
	m.bytes += uint64(len(text))
	for _, r := range spans {
		for _, s := range r.ScopeSpans {
			m.spans += uint64(len(s.Spans))
			for _, span := range s.Spans {
				m.events += uint64(len(span.Events))
			}
		}
	}
	return nil
}

// A requestWay is a provider whose spans are batched and marshalled, bare or with
// perfline's bridge in front.
type requestWay struct {
	tl       *observer.Timeline
	end      *marshaller
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

func newRequestWay(bridged bool, sampler sdktrace.Sampler) (*requestWay, error) {
	w := &requestWay{tl: quiet(), end: &marshaller{}}
	exporter, err := otlptrace.New(context.Background(), w.end)
	if err != nil {
		return nil, err
	}
	p := sdktrace.NewBatchSpanProcessor(exporter, sdktrace.WithMaxQueueSize(1<<12), sdktrace.WithBatchTimeout(time.Hour))
	if bridged {
		p = bridge.NewProcessor(p, bridge.WithTimeline(w.tl))
	}
	w.provider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(p))
	w.tracer = w.provider.Tracer("benchmarks")
	return w, nil
}

func (w *requestWay) empty(n int) {
	for range n {
		_, span := w.tracer.Start(context.Background(), "request")
		span.End()
	}
}

// perfline makes the request's timeline and span as bridge.Middleware does; what
// that does for HTTP is left out of all three.
func (w *requestWay) perfline(n int) {
	for i := range n {
		ctx, span := w.tracer.Start(context.Background(), "request")
		tl := w.tl.NewChildAt(startOf(span))
		ctx = observer.NewContext(ctx, tl)
		timing(tl, observer.RequestStart, 0)
		for range 5 {
			marks.Mark(ctx, "m", slog.String("k", "v"), slog.Int("n", i))
		}
		for range 3 {
			marks.Time(ctx, "t", slog.String("k", "v"), slog.Int("n", i)).End()
		}
		timing(tl, observer.ResponseStart, tl.Now())
		timing(tl, observer.ResponseEnd, tl.Now())
		span.End()
		tl.Close()
	}
}

func startOf(span trace.Span) time.Time {
	if s, ok := span.(sdktrace.ReadOnlySpan); ok {
		return s.StartTime()
	}
	return time.Now()
}

func timing(tl *observer.Timeline, name string, at time.Duration) {
	if err := tl.SetTiming(name, at); err != nil {
		panic(err) // the names are constants, and at is not negative
	}
}

func (w *requestWay) opentelemetry(n int) {
	for i := range n {
		ctx, span := w.tracer.Start(context.Background(), "request")
		for range 5 {
			otelMark(ctx, i)
		}
		for range 3 {
			otelMeasure(ctx, w.tracer, i)
		}
		span.End()
	}
}

func requestName(what, rate string) string { return what + ", " + rate + " sampled" }

func requestRows() (rows []*row) {
	for _, s := range []struct {
		rate    string
		sampler sdktrace.Sampler
	}{
		{"100 %", sdktrace.AlwaysSample()}, {"1 %", sdktrace.TraceIDRatioBased(0.01)}, {"0 %", sdktrace.NeverSample()},
	} {
		for _, k := range []struct {
			name    string
			bridged bool
			op      func(*requestWay) func(int)
			spans   uint64 // of each request
			events  uint64
		}{
			{"the span alone", false, func(w *requestWay) func(int) { return w.empty }, 1, 0},
			{"perfline, with the request's timeline", true, func(w *requestWay) func(int) { return w.perfline }, 4, 5},
			{"OpenTelemetry", false, func(w *requestWay) func(int) { return w.opentelemetry }, 4, 5},
		} {
			rows = append(rows, &row{group: requestGroup, name: requestName(k.name, s.rate), procs: 1, open: func() (*bench, error) {
				w, err := newRequestWay(k.bridged, s.sampler)
				if err != nil {
					return nil, err
				}
				b := &bench{burst: 100, op: k.op(w), close: func() error { return w.provider.Shutdown(context.Background()) }}
				b.settle = func() error { return w.provider.ForceFlush(context.Background()) }
				b.check = func(calls uint64) error {
					spans, events := calls*k.spans, calls*k.events
					switch s.rate {
					case "1 %": // by chance, but requests are whole
						spans, events = w.end.spans-w.end.spans%k.spans, w.end.spans/k.spans*k.events
					case "0 %":
						spans, events = 0, 0
					}
					if w.end.spans != spans || w.end.events != events {
						return fmt.Errorf("%d requests, %d spans and %d events were marshalled, want %d and %d", calls, w.end.spans, w.end.events, spans, events)
					}
					return nil
				}
				return b, nil
			}})
		}
	}
	return rows
}

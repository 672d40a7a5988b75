package perfline_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
	"google.golang.org/grpc/stats"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/bridge/bridgegrpc"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/waits"
)

// What follows is code of a program, each function of which fails when the test says so.

type programSender struct {
	*program
	sending sync.Mutex // guards sent
	sent    strings.Builder
}

func (s *programSender) Send(_ context.Context, body []byte) exporter.Answer {
	s.at("exporter.Sender.Send")
	s.sending.Lock()
	defer s.sending.Unlock()
	s.sent.Write(body)
	return exporter.Answer{Message: "a warning, which is logged"}
}

func (s *programSender) String() string {
	s.at("exporter.Sender: fmt.Stringer.String")
	return "the test"
}

func (s *programSender) Close() error {
	s.at("exporter.Sender: io.Closer.Close")
	return nil
}

func (s *programSender) has(name string) bool {
	s.sending.Lock()
	defer s.sending.Unlock()
	return strings.Contains(s.sent.String(), name)
}

type programHandler struct{ *program }

func (h programHandler) Enabled(context.Context, slog.Level) bool {
	h.at("log/slog.Handler.Enabled")
	return true
}

func (h programHandler) Handle(_ context.Context, r slog.Record) error {
	h.at("log/slog.Handler.Handle")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log.WriteString(r.Message + "\n")
	return nil
}

func (h programHandler) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h programHandler) WithGroup(string) slog.Handler      { return h }

type programSampler struct{ *program }

func (s programSampler) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	s.at("otel/sdk/trace.Sampler.ShouldSample")
	return sdktrace.AlwaysSample().ShouldSample(p)
}

func (programSampler) Description() string { return "the test's" }

type programIDs struct{ *program }

var lastID struct {
	sync.Mutex
	n byte
}

func nextID() (t trace.TraceID, s trace.SpanID) {
	lastID.Lock()
	defer lastID.Unlock()
	lastID.n++
	t[0], s[0], t[1], s[1] = 1, 1, lastID.n, lastID.n
	return t, s
}

func (i programIDs) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	i.at("otel/sdk/trace.IDGenerator.NewIDs")
	return nextID()
}

func (i programIDs) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	i.at("otel/sdk/trace.IDGenerator.NewSpanID")
	_, s := nextID()
	return s
}

type programPropagator struct{ *program }

func (p programPropagator) Inject(ctx context.Context, c propagation.TextMapCarrier) {
	p.at("otel/propagation.TextMapPropagator.Inject")
	propagation.TraceContext{}.Inject(ctx, c)
}

func (p programPropagator) Extract(ctx context.Context, c propagation.TextMapCarrier) context.Context {
	p.at("otel/propagation.TextMapPropagator.Extract")
	return propagation.TraceContext{}.Extract(ctx, c)
}

func (p programPropagator) Fields() []string {
	p.at("otel/propagation.TextMapPropagator.Fields")
	return propagation.TraceContext{}.Fields()
}

type programWaits struct{ *program }

func (w programWaits) Start(*slog.Logger) { w.at("waits.Recorder.Start") }

func (w programWaits) Watch(func(bridge.Root, *waits.Request)) func() {
	w.at("waits.Recorder.Watch")
	return func() { w.at("waits.Recorder.Watch: stop") }
}

func (w programWaits) Slow(bridge.Root) bool {
	w.at("waits.Recorder.Slow")
	return false
}

func (w programWaits) Stats() waits.Stats {
	w.at("waits.Recorder.Stats")
	return waits.Stats{}
}

func (w programWaits) State() waits.State {
	w.at("waits.Recorder.State")
	return waits.State{}
}

func (w programWaits) Shutdown(context.Context) error {
	w.at("waits.Recorder.Shutdown")
	return nil
}

func (w programWaits) Arm(time.Duration) error {
	w.at("waits.Recorder.Arm")
	return nil
}

func (w programWaits) Disarm() { w.at("waits.Recorder.Disarm") }

func (w programWaits) Result(trace.TraceID, trace.SpanID) (*waits.Request, bool) {
	w.at("waits.Recorder.Result")
	return nil, false
}

type programProfiles struct{ *program }

func (e programProfiles) Start(context.Context, *resource.Resource, *slog.Logger) error {
	e.at("profiling.Exporter.Start")
	return nil
}

func (e programProfiles) Flush(context.Context) error {
	e.at("profiling.Exporter.Flush")
	return nil
}

func (e programProfiles) Shutdown(context.Context) error {
	e.at("profiling.Exporter.Shutdown")
	return nil
}

func (e programProfiles) Stats() profiling.ExporterStats {
	e.at("profiling.Exporter.Stats")
	return profiling.ExporterStats{}
}

func (e programProfiles) LastMinute() *profile.Trace {
	e.at("profiling.Exporter.LastMinute")
	return nil
}

// A programReader is a reader of metrics with the methods that a program can replace by embedding one.
type programReader struct {
	*program
	sdkmetric.Reader
}

func (r programReader) Shutdown(ctx context.Context) error {
	r.at("otel/sdk/metric.Reader.Shutdown")
	return r.Reader.Shutdown(ctx)
}

type programMeters struct {
	metricnoop.MeterProvider
	*program
}

func (m programMeters) Meter(name string, o ...metric.MeterOption) metric.Meter {
	m.at("otel/metric.MeterProvider.Meter")
	return m.MeterProvider.Meter(name, o...)
}

type programTracers struct {
	tracenoop.TracerProvider
	*program
}

func (p programTracers) Tracer(string, ...trace.TracerOption) trace.Tracer {
	p.at("otel/trace.TracerProvider.Tracer")
	return programTracer{program: p.program}
}

type programTracer struct {
	tracenoop.Tracer
	*program
}

func (t programTracer) Start(ctx context.Context, _ string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	t.at("otel/trace.Tracer.Start")
	s := programSpan{program: t.program}
	s.of.TraceID, s.of.SpanID = nextID()
	return trace.ContextWithSpan(ctx, s), s
}

type programSpan struct {
	tracenoop.Span
	*program
	of trace.SpanContextConfig
}

func (s programSpan) SpanContext() trace.SpanContext {
	s.at("a foreign span: SpanContext")
	s.of.TraceFlags = trace.FlagsSampled
	return trace.NewSpanContext(s.of)
}

func (s programSpan) IsRecording() bool {
	s.at("a foreign span: IsRecording")
	return true
}

func (s programSpan) AddEvent(string, ...trace.EventOption) { s.at("a foreign span: AddEvent") }
func (s programSpan) End(...trace.SpanEndOption)            { s.at("a foreign span: End") }

func (s programSpan) TracerProvider() trace.TracerProvider {
	s.at("a foreign span: TracerProvider")
	return programTracers{program: s.program}
}

type programExporter struct{ *programSender }

func (e programExporter) ExportSpans(_ context.Context, all []sdktrace.ReadOnlySpan) error {
	e.at("otel/sdk/trace.SpanExporter.ExportSpans")
	e.sending.Lock()
	defer e.sending.Unlock()
	for _, s := range all {
		e.sent.WriteString(s.Name())
	}
	return nil
}

func (e programExporter) Shutdown(context.Context) error {
	e.at("otel/sdk/trace.SpanExporter.Shutdown")
	return nil
}

type programProcessor struct{ *program }

func (s programProcessor) OnStart(context.Context, sdktrace.ReadWriteSpan) {
	s.at("otel/sdk/trace.SpanProcessor.OnStart")
}
func (s programProcessor) OnEnd(sdktrace.ReadOnlySpan) { s.at("otel/sdk/trace.SpanProcessor.OnEnd") }

func (s programProcessor) ForceFlush(context.Context) error {
	s.at("otel/sdk/trace.SpanProcessor.ForceFlush")
	return nil
}

func (s programProcessor) Shutdown(context.Context) error {
	s.at("otel/sdk/trace.SpanProcessor.Shutdown")
	return nil
}

type programOutput struct{ *programSender }

func (o programOutput) Accept(all []bridge.Spans) {
	o.at("bridge.Output.Accept")
	o.sending.Lock()
	defer o.sending.Unlock()
	for _, s := range all {
		o.sent.Write(s.Bytes)
	}
}

func (o programOutput) ForceFlush(context.Context) error {
	o.at("bridge.Output.ForceFlush")
	return nil
}

func (o programOutput) Shutdown(context.Context) error {
	o.at("bridge.Output.Shutdown")
	return nil
}

type programLogs struct{ *program }

func (o programLogs) AcceptLogs(bridge.Records) { o.at("bridge.LogOutput.AcceptLogs") }

func (o programLogs) ForceFlush(context.Context) error {
	o.at("bridge.LogOutput.ForceFlush")
	return nil
}

func (o programLogs) Shutdown(context.Context) error {
	o.at("bridge.LogOutput.Shutdown")
	return nil
}

// timeline returns a timeline of the program's, with an observer.
func (p *program) timeline(t *testing.T) *observer.Timeline {
	began := time.Now()
	tl := observer.NewTimeline(observer.TimelineOptions{
		Logger: slog.New(programHandler{p}),
		Clock: func() time.Duration {
			p.at("observer.TimelineOptions.Clock")
			return time.Since(began)
		},
		Scheduler: func(task func()) {
			p.at("observer.TimelineOptions.Scheduler")
			go task()
		},
	})
	if _, err := tl.Observe(func(observer.List) { p.at("observer.Timeline.Observe callback") }, observer.Options{Types: []observer.Type{observer.Mark}}); err != nil {
		t.Error(err)
	}
	return tl
}

// requests returns what serves a request named name over HTTP and over gRPC, and makes one of each to another service.
func (p *program) requests(tl *observer.Timeline, tracers trace.TracerProvider) func(ctx context.Context, name string) {
	server := bridgehttp.Server{
		TracerProvider: tracers, MeterProvider: programMeters{program: p}, Propagators: programPropagator{p}, Timeline: tl,
		Filter: func(*http.Request) bool {
			p.at("bridge/bridgehttp.Server.Filter")
			return true
		},
		PublicEndpoint: func(*http.Request) bool {
			p.at("bridge/bridgehttp.Server.PublicEndpoint")
			return false
		},
		SpanName: func(r *http.Request, _ string) string {
			p.at("bridge/bridgehttp.Server.SpanName")
			return strings.TrimPrefix(r.URL.Path, "/")
		},
	}
	client := bridgehttp.Client{
		TracerProvider: tracers, MeterProvider: programMeters{program: p}, Propagators: programPropagator{p},
		Filter: func(*http.Request) bool {
			p.at("bridge/bridgehttp.Client.Filter")
			return true
		},
		SpanName: func(*http.Request) string {
			p.at("bridge/bridgehttp.Client.SpanName")
			return "call"
		},
	}.Transport(there{})
	grpcServer := bridgegrpc.Server{
		TracerProvider: tracers, MeterProvider: programMeters{program: p}, Propagators: programPropagator{p}, Timeline: tl,
		Filter: func(*stats.RPCTagInfo) bool {
			p.at("bridge/bridgegrpc.Server.Filter")
			return true
		},
		PublicEndpoint: func(context.Context, *stats.RPCTagInfo) bool {
			p.at("bridge/bridgegrpc.Server.PublicEndpoint")
			return false
		},
	}.Handler()
	grpcClient := bridgegrpc.Client{
		TracerProvider: tracers, MeterProvider: programMeters{program: p}, Propagators: programPropagator{p},
		Filter: func(*stats.RPCTagInfo) bool {
			p.at("bridge/bridgegrpc.Client.Filter")
			return true
		},
	}.Handler()
	called := func(ctx context.Context, h stats.Handler) {
		ctx = h.TagRPC(ctx, &stats.RPCTagInfo{FullMethodName: "/shop.Shop/Buy"})
		h.HandleRPC(ctx, &stats.Begin{})
		h.HandleRPC(ctx, &stats.End{})
	}
	handler := server.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		time.Sleep(time.Millisecond) // which is slow
		marks.Mark(r.Context(), "mark")
		defer marks.Time(r.Context(), "measure").End()
		to, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, "http://there/", nil)
		if response, err := client.RoundTrip(to); err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		called(r.Context(), grpcClient)
	}))
	return func(ctx context.Context, name string) {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/"+name, nil))
		called(ctx, grpcServer)
	}
}

// job makes spans without a handler around them: a slow one that ends, with one below it that ends later, and one that does not end.
func job(ctx context.Context, provider trace.TracerProvider) {
	tracer := provider.Tracer("t")
	under, span := tracer.Start(ctx, "job", trace.WithSpanKind(trace.SpanKindServer))
	_, later := tracer.Start(under, "later")
	time.Sleep(time.Millisecond)
	span.End()
	time.Sleep(time.Second)
	later.End()
	_, open := tracer.Start(ctx, "open")
	_ = open
}

// there is another service.
type there struct{}

func (there) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("fine")), Header: http.Header{}, Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

func pipelinePart(t *testing.T, p *program, to *programSender, c perfline.Config) *part {
	tl := p.timeline(t)
	c.Timeline, c.Logger = tl, slog.New(programHandler{p})
	c.Sampler, c.Propagator, c.Waits, c.ProfileExporter = programSampler{p}, programPropagator{p}, programWaits{p}, programProfiles{p}
	c.Keep = bridge.KeepPolicy{Slow: time.Nanosecond}
	manual := sdkmetric.NewManualReader()
	c.Metrics = programReader{p, manual}
	pl, err := perfline.Start(context.Background(), c)
	if err != nil {
		return nil
	}
	complete := false
	defer func() {
		if !complete {
			_ = pl.Shutdown(context.Background())
		}
	}()
	requests := p.requests(tl, pl.TracerProvider())
	complete = true
	ctx := observer.NewContext(context.Background(), tl)
	return &part{
		work: []func(){
			func() { requests(ctx, "work") },
			func() { job(ctx, pl.TracerProvider()) },
			func() { time.Sleep(time.Minute / 2) }, // entries are delivered
			func() { _ = pl.Stats() },
			func() { _ = pl.Counts() },
			func() { _ = pl.LastMinute() },
			func() { _ = pl.Waits().Arm(time.Second) },
			func() { pl.Waits().Disarm() },
			func() { pl.Waits().Watch(func(bridge.Root, *waits.Request) {})() },
			func() { pl.Waits().Result(trace.TraceID{1}, trace.SpanID{1}) },
			func() { _ = pl.Waits().State() },
			func() {
				if p.fault != "block" { // under a lock of the SDK's, for which testing/synctest has no time
					_ = manual.Collect(context.Background(), &metricdata.ResourceMetrics{})
				}
			},
		},
		control: func() { requests(ctx, "control") }, arrived: func() bool { return to.has("control") },
		flush: pl.Flush, shutdown: pl.Shutdown, panics: func() uint64 { return pl.Stats().Bridge.Panics },
	}
}

func newPipelinePart(t *testing.T, p *program) *part {
	to := &programSender{program: p}
	return pipelinePart(t, p, to, perfline.Config{Traces: exporter.Config{Sender: to}, Logs: exporter.Config{Sender: to}, Marks: bridge.SpanEventsAndLogRecords})
}

func newExporterPart(t *testing.T, p *program) *part {
	to := &programSender{program: p}
	return pipelinePart(t, p, to, perfline.Config{SpanExporter: programExporter{to}})
}

func newProviderPart(t *testing.T, p *program) *part {
	tl, to := p.timeline(t), &programSender{program: p}
	provider := bridge.NewTracerProvider(bridge.TracerProviderConfig{
		Sampler: programSampler{p}, IDs: programIDs{p}, Timeline: tl, Exporters: []bridge.Output{programOutput{to}}, Logs: programLogs{p},
		Marks: bridge.SpanEventsAndLogRecords, Keep: &bridge.KeepPolicy{Slow: time.Nanosecond}, Processors: []sdktrace.SpanProcessor{programProcessor{p}},
		OnSlow: func(bridge.Root, bool) { p.at("bridge.TracerProviderConfig.OnSlow") },
	})
	complete := false
	defer func() {
		if !complete {
			_ = provider.Shutdown(context.Background())
		}
	}()
	requests := p.requests(tl, provider)
	complete = true
	ctx := observer.NewContext(context.Background(), tl)
	return &part{
		work: []func(){
			func() { requests(ctx, "work") },
			func() { job(ctx, provider) },
			func() { time.Sleep(time.Minute / 2) },
		},
		control: func() { requests(ctx, "control") }, arrived: func() bool { return to.has("control") },
		flush: provider.ForceFlush, shutdown: provider.Shutdown, panics: func() uint64 { return (*record.Timeline)(tl).Panics() },
	}
}

func newProcessorPart(t *testing.T, p *program) *part {
	tl := p.timeline(t)
	processor := bridge.NewProcessor(bridge.ProcessorConfig{Timeline: tl, TracerProvider: programTracers{program: p}, Logs: programLogs{p}, Marks: bridge.SpanEventsAndLogRecords})
	requests := p.requests(tl, programTracers{program: p})
	ctx := observer.NewContext(context.Background(), tl)
	controlled := false
	return &part{
		work: []func(){
			func() { requests(ctx, "work") },
			func() { marks.Mark(ctx, "loose") },
			func() { marks.Time(ctx, "measure").End() },
			func() { time.Sleep(time.Minute / 2) },
		},
		control: func() {
			requests(ctx, "control")
			controlled = true
		},
		arrived: func() bool { return controlled },
		flush:   processor.ForceFlush, shutdown: processor.Shutdown, panics: func() uint64 { return (*record.Timeline)(tl).Panics() },
	}
}

package perfline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/contrib/instrumentation/runtime"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/counts"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlpmetrics"
	"github.com/perfline/perfline/internal/outputs"
	"github.com/perfline/perfline/internal/record"
	memory "github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/scope"
	"github.com/perfline/perfline/internal/setup"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/pyroscope"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/requests"
	"github.com/perfline/perfline/waits"
)

// Config configures [Start]. With the zero value, environment variables configure the pipeline. A
// field overrides the corresponding variable.
//
// Operators can rename a service, because two variables override fields. OTEL_SERVICE_NAME
// overrides Service. OTEL_RESOURCE_ATTRIBUTES overrides Service, Version and Attributes.
type Config struct {
	Service    string               // service.name
	Version    string               // service.version; by default the main module's version
	Attributes []attribute.KeyValue // further attributes of the resource

	// Traces sets the backend of spans and the size of the queue, in place of OTEL_TRACES_EXPORTER,
	// OTEL_EXPORTER_OTLP_* and OTEL_BSP_*.
	Traces exporter.Config
	// Logs sets the backend of log records and the size of the queue, in place of
	// OTEL_LOGS_EXPORTER, OTEL_EXPORTER_OTLP_* and OTEL_BLRP_*.
	Logs exporter.Config
	// Marks selects how marks are exported: as span events, as log records, or both. The zero value
	// selects the form in PERFLINE_MARKS, by default span events.
	Marks  bridge.MarkForm
	Recent requests.Config // bounds the requests in memory

	// BlackBox is the directory of the black box, in place of PERFLINE_BLACKBOX_DIR. The black box
	// is a file of 8 MiB, which keeps what this process serves. If the process dies, the next Start
	// with the same directory reports the kind of the death, the open requests, and what the Go
	// runtime said. docs/blackbox.md has the details. If a wrong directory stops the black box, the
	// log has one line, and Start succeeds. An empty BlackBox without the variable means no black
	// box.
	//
	// Start calls debug.SetCrashOutput, once. A program with a crash output of its own calls
	// debug.SetCrashOutput after Start: the report then lacks the runtime's text.
	BlackBox string
	// Keep selects requests that stay in memory with all spans, even if the sampler drops the
	// requests. By default, Keep selects slow and failed requests, and some with only an error
	// inside. If TracerProvider is set, Keep selects from the sampled requests.
	Keep    bridge.KeepPolicy
	Sampler sdktrace.Sampler // in place of OTEL_TRACES_SAMPLER; default: parentbased_always_on
	// Profiles sets the Pyroscope server of continuous profiles, in place of PYROSCOPE_*. Profiles
	// and traces carry the same resource.
	Profiles pyroscope.Config
	Sessions sessions.Config // limits the cost of sessions, and contains the permissions of clients

	// Waits, when set, records the waits of slow requests: see flight.NewRecorder of package
	// waits/flight. The pipeline starts the recorder and shuts the recorder down. Waits changes the
	// default of Keep.Factor: a request is then also slow by the usual duration of its route.
	//
	// If spans go to SpanExporter, or to an exporter of TracerProvider, Logger writes the causes of
	// slow requests. A minute has at most 20 such lines. Requests of one trace that wait for their
	// results together have one line, about the longest.
	Waits waits.Recorder

	// ProfileExporter, when set, sends continuous profiles over OTLP. Package
	// profiling/otlpprofiles (development) provides such an exporter. OTEL_PROFILES_EXPORTER=none
	// disables the exporter.
	//
	// The program may set both Profiles and ProfileExporter. Both receivers then get the same
	// profiles, and the profiler records each profile once. The pipeline starts the exporter and
	// shuts the exporter down.
	ProfileExporter profiling.Exporter

	// Measures selects the measures that the histogram perfline.measure.duration records. The
	// default is no measures. A nil MeterProvider in Measures means the global provider after
	// Start. The histogram costs nothing if no metrics are exported.
	Measures bridge.MeasureConfig

	// SpanExporter, when set, exports the spans in place of OTLP. Start then ignores
	// OTEL_TRACES_EXPORTER and the endpoint of traces. Shutdown shuts the exporter down.
	SpanExporter sdktrace.SpanExporter

	// Metrics, when set, reads the metrics in place of OTEL_METRICS_EXPORTER. An example is the
	// exporter of go.opentelemetry.io/otel/exporters/prometheus. Shutdown shuts the reader down.
	//
	// perfline cannot recover panics on a goroutine of OpenTelemetry's SDK. Two kinds of such
	// panics end the program:
	//
	//   - A panic in the exporter of a PeriodicReader.
	//   - A panic in a callback of an observable instrument that a reader calls periodically.
	Metrics sdkmetric.Reader

	// Propagator, when set, replaces the propagators of OTEL_PROPAGATORS. Propagators read and
	// write trace contexts in the headers of requests.
	Propagator propagation.TextMapPropagator

	// TracerProvider, when set, creates the spans. nil means a [bridge.TracerProvider] that Start
	// creates. The program configures TracerProvider and shuts TracerProvider down. Start adds
	// processors to the provider, and Shutdown removes the processors.
	//
	// If TracerProvider is set, Sampler must be nil. Spans then carry the provider's resource.
	// Service, Version and Attributes describe only metrics, log records and profiles.
	TracerProvider *sdktrace.TracerProvider

	// Timeline is the process timeline. nil means observer.ProcessTimeline(). Sessions and Measures
	// use this timeline by default.
	Timeline *observer.Timeline
	// Logger writes perfline's log lines. nil means slog.Default(). Traces, Logs, Sessions and
	// Waits use this logger by default.
	Logger *slog.Logger
}

// A delivery sends ended spans, and counts their outcomes.
type delivery interface {
	sdktrace.SpanProcessor
	Stats() exporter.Stats
}

// A Pipeline records telemetry and delivers the telemetry to the backends. All methods may be
// called concurrently.
type Pipeline struct {
	timeline *observer.Timeline
	tracing  *tracing              // nil with OTEL_SDK_DISABLED
	delivery delivery              // nil without a backend
	resource *resource.Resource    // nil with OTEL_SDK_DISABLED
	logs     *exporter.LogDelivery // nil unless log records are exported
	recent   *memory.Recent
	profiles profiling.Exporter // to Pyroscope; nil without a server for profiles
	exported profiling.Exporter // Config.ProfileExporter; nil unless set
	sessions *sessions.Recorder
	waits    waits.Recorder           // nil without Config.Waits
	meters   *sdkmetric.MeterProvider // nil unless metrics are exported
	points   *otlpmetrics.Exporter    // nil unless metrics are exported over OTLP
	metrics  metric.Registration      // of perfline's own counts
	measures *bridge.MeasureHistogram // nil without Config.Measures
	causes   *causeLog                // nil without a log of causes
	baseline map[string]uint64        // counts at the end of Start, by their words
	history  runtimeHistory
	start    setup.Start // facts for Check
	setupLog *setupLog   // nil with OTEL_SDK_DISABLED
	blackBox *blackBox   // nil without Config.BlackBox

	profileRuns []profileRun // of profiles and exported

	shutdown within.Once
}

// Start sets up the following parts, as configured by variables and c:
//
//   - the resource
//   - perfline's tracer provider, with sampler and limits
//   - delivery of spans over OTLP, if an endpoint is set
//   - delivery of log records over OTLP, if OTEL_LOGS_EXPORTER, Config.Logs or the form of marks
//     requires log records
//   - metrics of perfline and of the Go runtime, if OTEL_METRICS_EXPORTER or Config.Metrics is set
//   - continuous profiling, if a Pyroscope server or Config.ProfileExporter is set
//   - the most recent requests in memory
//   - the waits recorder, if Config.Waits is set
//   - propagators (OTEL_PROPAGATORS)
//
// Start sets OpenTelemetry's globals: tracer provider, meter provider, propagator, error handler
// and logger.
//
// Start handles wrong values as follows:
//
//   - An empty variable is treated as unset.
//   - For a wrong variable, Start logs one line. The line contains the variable, the rule and the
//     value that Start uses instead.
//   - For a wrong field, Start returns an error with the field's name and the rule.
//   - For a wrong variable with an address or credentials, Start returns an error. Examples are an
//     invalid URL, malformed headers and an unreadable certificate.
//
// If Start returns an error, no part runs, and OpenTelemetry's globals are unchanged. An
// unreachable backend causes no error.
//
// With PERFLINE_PROFILING=off, Start succeeds and records no profiles. With OTEL_SDK_DISABLED=true,
// the timeline records entries, and trace contexts are propagated. No other data leave the process.
// docs/variables.md lists all variables.
func Start(ctx context.Context, c Config) (_ *Pipeline, err error) {
	var p *Pipeline
	to := &destinations{}
	complete := false
	defer func() { // also when code of the program panics, or ends the goroutine
		if complete {
			return
		}
		stopping, cancel := within.Bounded(ctx, shutdownFor)
		defer cancel()
		if p != nil && p.tracing != nil { // Shutdown stops all parts
			_ = p.Shutdown(stopping)
			return
		}
		r := within.Begin(stopping, wholeGrace)
		if p != nil {
			p.stopProfiles(r)
			if p.points != nil {
				r.Go("perfline: the delivery of metrics", p.points.Shutdown)
			}
			r.Do("perfline: the black box", func(ctx context.Context) error {
				return errors.Join(p.blackBox.end(ctx), p.blackBox.close())
			})
			r.Do("perfline: the delivery of spans", to.Shutdown)
		}
		err = fmt.Errorf("perfline: %w", errors.Join(err, r.End()))
	}()
	if err := c.check(); err != nil {
		return nil, err
	}
	c.setDefaults()
	vars := environ.NewReader(c.Logger)
	checkVariables(vars)
	propagator := c.Propagator
	if propagator == nil {
		propagator = readPropagator(vars)
	}
	if environ.Get(configFile) != "" {
		vars.Ignored(configFile,
			"perfline does not read configuration files: the other variables and Config count")
	}
	if environ.Read(vars, false, environ.Bool, "OTEL_SDK_DISABLED") {
		otel.SetTextMapPropagator(propagator) // also of a service that makes no spans
		complete = true
		return newPipeline(c, nil), nil
	}
	res := newResource(ctx, c, vars)
	p = newPipeline(c, res)
	to.recent = p.recent
	c.Marks = readMarkForm(vars, c.Marks)
	overOTLP, spans, name := false, c.SpanExporter, "Config.SpanExporter"
	if spans == nil {
		name = "console"
		if overOTLP, spans, err = outputs.Spans(vars, c.Traces); err != nil {
			return nil, err
		}
	}
	if overOTLP {
		if to.encoded, err = exporter.NewDelivery(c.Traces); err != nil {
			return nil, err
		}
	}
	if c.Metrics == nil {
		if p.points, err = outputs.Metrics(vars, res, c.Traces.Logger); err != nil {
			return nil, err
		}
	}
	logs, err := outputs.LogRecords(vars, c.Logs, c.Marks != bridge.SpanEvents)
	if err != nil {
		return nil, err
	}
	if logs {
		if to.logs, err = exporter.NewLogDelivery(c.Logs); err != nil {
			return nil, err
		}
	} else if c.Marks != bridge.SpanEvents {
		c.Logger.Warn("perfline: marks stay events of their spans, because log records go nowhere; set OTEL_LOGS_EXPORTER=otlp and an endpoint, or Config.Logs", "form", c.Marks)
	}
	p.logs = to.logs
	if err = p.startProfiles(ctx, c, res, vars); err != nil {
		return nil, err
	}
	if spans != nil { // last: a failed Start does not shut the program's exporter down
		to.snapshot = outputs.NewSnapshots(vars, spans, name, c.Traces.QueueSize, c.Traces.Logger)
	}
	p.delivery = to.backend()

	// OpenTelemetry's providers read variables, too, and report wrong variables to this handler and
	// this logger.
	r := &reporter{log: c.Logger, now: time.Now, vars: vars}
	otel.SetErrorHandler(r)
	otel.SetLogger(logr.New(r))
	p.blackBox = openBlackBox(&c, res, to, vars)
	p.tracing = startTracing(c, res, p.Logs(), to, vars)

	p.start.Earlier = warnOfEarlier(c, otel.GetTracerProvider())
	otel.SetTracerProvider(p.tracing.global())
	otel.SetTextMapPropagator(propagator)
	if c.Waits != nil {
		p.causes = to.causes
		r := within.Begin(ctx, within.Grace)
		r.Do(ofWaits, func(context.Context) error {
			if w, ok := c.Waits.(waiting.Recorder); ok {
				w.SetHeld(p.recent.Holds)
			}
			c.Waits.Start(c.Logger)
			return nil
		})
		if err := r.End(); err != nil {
			c.Logger.Warn("perfline: the waits recorder has not started", "error", err)
		}
	}
	if v, ok := record.Protect(func() { p.startMetrics(c, vars) }); !ok {
		c.Logger.Warn("perfline: code of Config.Metrics or of the global meter provider panicked; some metrics are not available", "panic", record.PanicValue(v))
	}
	p.baseline = map[string]uint64{}
	for _, c := range p.counts().Rows() {
		p.baseline[c.What] = c.N
	}
	p.setupLog = startSetupLog(p, c.Logger)
	p.blackBox.readEarlier(p.Counts)
	complete = true
	return p, nil
}

// newPipeline returns a pipeline without the parts that deliver data. res may be nil.
func newPipeline(c Config, res *resource.Resource) *Pipeline {
	p := &Pipeline{
		timeline: c.Timeline, recent: newStore(c, res), resource: res,
		sessions: sessions.NewRecorder(c.Sessions), waits: c.Waits,
		start: setup.Start{Waits: c.Waits != nil},
	}
	if w, ok := c.Waits.(*guardedWaits); ok {
		w.named = p.recent.Named
	}
	return p
}

// startMetrics registers the metrics with a reader, if any. startMetrics calls the program's code:
// methods of the reader and of a global meter provider.
func (p *Pipeline) startMetrics(c Config, vars *environ.Reader) {
	if p.points != nil {
		c.Metrics = outputs.Reader(vars, p.points)
	}
	if c.Metrics != nil {
		checkMetricVariables(vars)
		p.meters = sdkmetric.NewMeterProvider(sdkmetric.WithResource(p.resource),
			sdkmetric.WithReader(c.Metrics))
		otel.SetMeterProvider(p.meters)
		if err := runtime.Start(runtime.WithMeterProvider(p.meters)); err != nil {
			c.Logger.Warn("perfline: the Go runtime's metrics are not available", "error", err)
		}
	}
	var err error
	if len(c.Measures.Names) > 0 { // after SetMeterProvider: the histogram uses the global provider
		c.Measures.Timeline = cmp.Or(c.Measures.Timeline, c.Timeline)
		if p.measures, err = bridge.NewMeasureHistogram(c.Measures); err != nil {
			c.Logger.Warn("perfline: measures are in no histogram", "error", err)
		}
	}
	p.metrics, err = counts.Register(scope.Meter(otel.GetMeterProvider()), p.counts)
	if err != nil {
		c.Logger.Warn("perfline: its own counts are not available as metrics", "error", err)
	}
}

func (c *Config) setDefaults() {
	c.Logger = record.SafeLogger(c.Logger)
	c.Timeline = cmp.Or(c.Timeline, observer.ProcessTimeline())
	if c.Waits != nil {
		c.Waits = &guardedWaits{recorder: c.Waits, timeline: (*record.Timeline)(c.Timeline),
			modules: c.Sessions.Policy.Modules}
	}
	c.Traces.Logger = cmp.Or(c.Traces.Logger, c.Logger)
	c.Logs.Logger = cmp.Or(c.Logs.Logger, c.Logger)
	c.Sessions.Timeline = cmp.Or(c.Sessions.Timeline, c.Timeline)
	c.Sessions.Logger = cmp.Or(c.Sessions.Logger, c.Logger)
}

// TracerProvider returns the provider of this pipeline's spans:
//
//   - Config.TracerProvider, if set. The global provider wraps Config.TracerProvider: see
//     [profiling.WrapTracerProvider].
//   - The global provider, with OTEL_SDK_DISABLED.
//   - Otherwise a [bridge.TracerProvider].
func (p *Pipeline) TracerProvider() trace.TracerProvider {
	if p.tracing == nil {
		return otel.GetTracerProvider()
	}
	return p.tracing.provider
}

// MeterProvider returns the provider of this pipeline's metrics. If Start created no meter
// provider, MeterProvider returns the global provider.
func (p *Pipeline) MeterProvider() metric.MeterProvider {
	if p.meters == nil {
		return otel.GetMeterProvider()
	}
	return p.meters
}

// Logs returns the delivery of log records, or nil if log records are not exported. The delivery
// sends marks and the records of package bridgelog.
func (p *Pipeline) Logs() bridge.LogOutput {
	if p.logs == nil {
		return nil // not an interface with a nil pointer
	}
	return p.logs
}

// Resource returns the resource of the pipeline's telemetry, or nil with OTEL_SDK_DISABLED.
func (p *Pipeline) Resource() *resource.Resource { return p.resource }

// Recent returns the store of the most recent requests. The store works with and without a backend.
// For each route, the store counts requests and records durations, for sampled and unsampled
// requests. With Config.TracerProvider, the store counts only recorded requests.
func (p *Pipeline) Recent() *requests.Store { return (*requests.Store)(p.recent) }

// Sessions returns the recorder of profiling sessions. The recorder costs nothing until a session
// starts. Shutdown closes the recorder.
func (p *Pipeline) Sessions() *sessions.Recorder { return p.sessions }

// Waits returns the waits recorder, or nil if [Config].Waits is nil.
func (p *Pipeline) Waits() waits.Recorder { return p.waits }

// wholeGrace is the time that Flush and Shutdown go on after the end of their context: their parts
// need a moment to return errors.
const wholeGrace = 3 * within.Grace

// Flush delivers all data recorded before the call. If a part hangs, Flush returns at most a second
// after the end of ctx. The error then names the part.
func (p *Pipeline) Flush(ctx context.Context) error {
	if p.tracing == nil {
		return nil
	}
	r := within.Begin(ctx, wholeGrace)
	for _, run := range p.profileRuns {
		r.Go("perfline: the delivery of profiles", run.Flush)
	}
	r.Do("perfline: the delivery of spans", p.tracing.flush)
	if p.meters != nil {
		r.Do("perfline: the delivery of metrics", p.meters.ForceFlush)
	}
	return r.End()
}

// shutdownFor bounds a Shutdown with a context that has no deadline.
const shutdownFor = 10 * time.Second

// Shutdown delivers all recorded data and stops the pipeline. If ctx has no deadline, Shutdown uses
// a deadline of 10 seconds. If a part hangs, Shutdown returns at most a second after the end of
// ctx. The error then names the part.
//
// If data recorded since Start were lost, the returned error wraps a [*LostError]. The LostError
// counts spans, marks, log records, metric points and profiles.
//
// A further call waits for the first call, and returns the same error. The ctx of the further call
// limits only this wait. The ctx of the first call limits the parts. Stats can be called after
// Shutdown.
func (p *Pipeline) Shutdown(ctx context.Context) error {
	ctx, cancel := within.Bounded(ctx, shutdownFor)
	defer cancel()
	return p.shutdown.Do(ctx, wholeGrace, "perfline: Shutdown", p.stop)
}

func (p *Pipeline) stop(ctx context.Context) error {
	// less than Shutdown, which has the errors then
	r := within.Begin(ctx, wholeGrace-within.Grace/3)
	r.Go("perfline: the recorder of sessions", func(context.Context) error {
		p.sessions.Close()
		return nil
	})
	r.Go("perfline: the history of the runtime", func(context.Context) error {
		p.history.stop()
		return nil
	})
	if p.causes != nil {
		r.Do("perfline: "+ofWaits, func(context.Context) error {
			p.causes.end()
			return nil
		})
	}
	if p.setupLog != nil {
		r.Go("perfline: the check of the set-up", func(context.Context) error {
			p.setupLog.stop()
			return nil
		})
	}
	if p.waits != nil {
		r.Go("perfline: "+ofWaits, p.waits.Shutdown)
	}
	if p.tracing == nil {
		return r.End()
	}
	p.stopProfiles(r)
	r.Do("perfline: the black box", p.blackBox.end)
	r.Do("perfline: the delivery of spans", p.tracing.shutdown)
	r.Wait()
	if p.measures != nil { // its last points are still delivered
		p.measures.Stop()
	}
	if p.meters != nil { // after the spans and profiles, to send their last counts
		r.Do("perfline: the delivery of metrics", p.meters.Shutdown)
	}
	if p.metrics != nil {
		r.Do("perfline: its own counts as metrics",
			func(context.Context) error { return p.metrics.Unregister() })
	}
	var lost error
	r.Do("perfline: the counts", func(context.Context) error {
		lost = p.lost()
		return nil
	})
	r.Do("perfline: the black box", func(context.Context) error { return p.blackBox.close() })
	return errors.Join(lost, r.End())
}

func (p *Pipeline) stopProfiles(r *within.Run) {
	for _, run := range p.profileRuns {
		r.Go("perfline: the delivery of profiles", run.Shutdown)
	}
}

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
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/otlpmetrics"
	"github.com/perfline/perfline/internal/outputs"
	"github.com/perfline/perfline/internal/permission"
	"github.com/perfline/perfline/internal/record"
	memory "github.com/perfline/perfline/internal/requests"
	"github.com/perfline/perfline/internal/within"
	"github.com/perfline/perfline/observer"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/pyroscope"
	"github.com/perfline/perfline/profiling/sessions"
	"github.com/perfline/perfline/requests"
	"github.com/perfline/perfline/waits"
)

// Config configures [Start]. The zero value leaves everything to the environment's
// variables. A field that is set wins over its variable, except that OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES win over Service, Version and Attributes: operators can rename a
// service.
type Config struct {
	Service string // service.name, unless a variable has it
	// service.version, unless a variable has it; else the main module's version
	Version string
	// further attributes of the resource, unless a variable has them
	Attributes []attribute.KeyValue

	// where spans go and how many wait; else OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_*, OTEL_BSP_*. Its Logger is this one unless set
	Traces exporter.Config
	// where log records go and how many wait; else OTEL_LOGS_EXPORTER, OTEL_EXPORTER_OTLP_*, OTEL_BLRP_*. Its Logger is this one unless set
	Logs exporter.Config
	// what marks become; the zero value leaves it to PERFLINE_MARKS, which defaults to span events
	Marks  bridge.MarkForm
	Recent requests.Config // how many requests stay in memory
	// which requests stay in memory whole although the sampler drops them: by default, slow and failed ones. Only of spans that Start's own provider makes
	Keep    bridge.KeepPolicy
	Sampler sdktrace.Sampler // else OTEL_TRACES_SAMPLER, which defaults to parentbased_always_on
	// where profiles go, all the time; else PYROSCOPE_*. Its Resource is the traces'
	Profiles pyroscope.Config
	// what sessions may cost, and who may start them; its Timeline and Logger are these unless set
	Sessions sessions.Config

	// Waits, when set, finds out what slow requests waited for: flight.NewRecorder of package
	// waits/flight makes it. The pipeline owns the recorder: Start starts it, and Shutdown shuts it
	// down. Its Logger is this one unless set.
	Waits waits.Recorder

	// ProfileExporter, when set, sends profiles over OTLP all the time, beside Profiles or alone:
	// otlpprofiles.New of package profiling/otlpprofiles makes it (development).
	// OTEL_PROFILES_EXPORTER=none switches it off. The pipeline owns it: Start starts it, and
	// Shutdown shuts it down.
	ProfileExporter profiling.Exporter

	// Measures says which measures are in the histogram perfline.measure.duration. By default, none
	// are. Its Timeline is this one unless set, and its MeterProvider the global one after Start.
	// The histogram costs nothing while no metrics are exported.
	Measures bridge.MeasureConfig

	// SpanExporter, when set, takes the spans in place of OTLP, and OTEL_TRACES_EXPORTER and its
	// endpoint do not count. Shutdown shuts it down.
	SpanExporter sdktrace.SpanExporter

	// Metrics, when set, reads the metrics, and OTEL_METRICS_EXPORTER does not count: the exporter
	// of go.opentelemetry.io/otel/exporters/prometheus is such a reader. Shutdown shuts it down.
	//
	// A panic in the exporter of a PeriodicReader ends the program, and so does one in a callback
	// of an observable instrument, whichever reader calls it periodically: both run on a goroutine
	// of OpenTelemetry's SDK, where perfline cannot recover.
	Metrics sdkmetric.Reader

	// Propagator, when set, carries traces from and to other services in place of OTEL_PROPAGATORS.
	Propagator propagation.TextMapPropagator

	// TracerProvider, when set, makes the spans: a provider that the program has configured and
	// will shut down. Start adds its processors to it, and Shutdown removes them. Sampler must be
	// nil then. The provider has its own resource and limits, and Service, Version and Attributes
	// describe only metrics, log records and profiles. nil means a [bridge.TracerProvider] that
	// Start makes.
	TracerProvider *sdktrace.TracerProvider

	// Timeline is the process timeline to carry; nil means observer.ProcessTimeline().
	Timeline *observer.Timeline
	// Logger gets the few lines that perfline has to say; nil means slog.Default().
	Logger *slog.Logger
}

// A delivery is where ended spans go, with counts of what became of them.
type delivery interface {
	sdktrace.SpanProcessor
	Stats() exporter.Stats
}

// A Pipeline is a running set-up. Its methods may be called concurrently.
type Pipeline struct {
	timeline *observer.Timeline
	tracing  *tracing              // nil with OTEL_SDK_DISABLED
	delivery delivery              // nil without a backend
	resource *resource.Resource    // nil with OTEL_SDK_DISABLED
	logs     *exporter.LogDelivery // nil unless log records are exported
	recent   *memory.Recent
	profiles *pyroscope.Pusher  // nil without a server for profiles
	exported profiling.Exporter // of profiles; nil without one
	sessions *sessions.Recorder
	waits    waits.Recorder           // nil without Config.Waits
	meters   *sdkmetric.MeterProvider // nil unless metrics are exported
	points   *otlpmetrics.Exporter    // nil unless they are exported over OTLP
	metrics  metric.Registration      // of perfline's own counts
	measures *bridge.MeasureHistogram // nil without Config.Measures
	before   Stats                    // when Start was done
	history  runtimeHistory

	shutdown within.Once
}

// Start sets up these parts, as the variables and the Config say:
//
//   - the resource, and perfline's tracer provider with sampler and limits
//   - delivery over OTLP, if there is an endpoint
//   - delivery of log records over OTLP, if OTEL_LOGS_EXPORTER, Config.Logs or the form of marks
//     asks for them
//   - metrics, and the metrics of the Go runtime, if OTEL_METRICS_EXPORTER or Config.Metrics asks
//     for them
//   - continuous profiling, if there is a Pyroscope server or Config.ProfileExporter
//   - the most recent requests in memory
//   - the recorder of what slow requests waited for, if Config.Waits has one
//   - propagators (OTEL_PROPAGATORS)
//
// It sets OpenTelemetry's globals: tracer provider, meter provider, propagator, error handler
// and logger.
//
// Variables and fields follow these rules:
//
//   - An empty variable means unset.
//   - A wrong variable is one line in the log, which names the variable, its rule and the
//     value that counts instead.
//   - A wrong field is an error. It names the field and the rule.
//   - A wrong variable that says where data goes, or with which credentials, is an error, too: an
//     address that is no URL, malformed headers, or an unreadable certificate.
//
// After an error nothing runs, and OpenTelemetry's globals are unchanged. A backend that is down is
// no error. PERFLINE_PROFILING=off is no error either: nothing is profiled. With
// OTEL_SDK_DISABLED=true, the timeline works and trace contexts are propagated, but nothing else
// leaves the process. docs/variables.md has all variables.
func Start(ctx context.Context, c Config) (_ *Pipeline, err error) {
	var p *Pipeline
	var started []interface{ Shutdown(context.Context) error }
	complete := false
	defer func() { // also when code of the program panics, or ends the goroutine
		if complete {
			return
		}
		stopping, cancel := within.Bounded(ctx, shutdownFor)
		defer cancel()
		if p != nil && p.tracing != nil { // which has all of them
			_ = p.Shutdown(stopping)
			return
		}
		r := within.Begin(stopping, wholeGrace)
		for _, s := range started {
			r.Go(fmt.Sprintf("the shutdown of %T", s), s.Shutdown)
		}
		err = fmt.Errorf("perfline: %w", errors.Join(err, r.End()))
	}()
	if err := c.check(); err != nil {
		return nil, err
	}
	c.fill()
	vars := environ.NewReader(c.Logger)
	p = &Pipeline{
		timeline: c.Timeline, recent: newStore(c.Recent),
		sessions: sessions.NewRecorder(c.Sessions), waits: c.Waits,
	}
	checkOthers(vars)
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
		return p, nil
	}
	res := newResource(ctx, c, vars)
	p.resource = res
	c.Marks = readMarkForm(vars, c.Marks)
	out, err := outputs.Resolve(ctx, vars, outputs.Config{
		Traces: c.Traces, Spans: c.SpanExporter, Metrics: c.Metrics, Logs: c.Logs,
		AsLogs: c.Marks != bridge.SpanEvents,
	})
	if err != nil {
		return nil, err
	}
	started = append(started, out)
	if c.Profiles.Enabled() {
		if p.profiles, err = startProfiles(ctx, c, res, vars); err != nil {
			return nil, err
		}
		if p.profiles != nil {
			started = append(started, p.profiles)
		}
	}
	if p.exported, err = startProfileExporter(ctx, c, res, vars); err != nil {
		return nil, err
	}
	if p.exported != nil {
		started = append(started, p.exported)
	}

	to := &destinations{recent: p.recent}
	switch {
	case out.Sender != nil:
		c.Traces.Sender = out.Sender
		if to.encoded, err = exporter.NewDelivery(c.Traces); err != nil {
			return nil, err
		}
	case out.Spans != nil:
		to.snapshot = outputs.NewSnapshots(vars, out.Spans, out.Name, c.Traces.QueueSize,
			c.Traces.Logger)
	}
	p.delivery = to.backend()
	if p.delivery != nil {
		started = append(started, p.delivery)
	}
	if out.Logs != nil {
		c.Logs.Sender = out.Logs
		if to.logs, err = exporter.NewLogDelivery(c.Logs); err != nil {
			return nil, err
		}
		p.logs = to.logs
		started = append(started, p.logs)
	} else if c.Marks != bridge.SpanEvents {
		c.Logger.Warn("perfline: marks stay events of their spans, because log records go nowhere; set OTEL_LOGS_EXPORTER=otlp and an endpoint, or Config.Logs", "form", c.Marks)
	}

	// OpenTelemetry's providers read the variables, too, and report wrong ones to these two. The
	// logger that was set before cannot be read.
	r := &reporter{log: c.Logger, now: time.Now, vars: vars}
	otel.SetErrorHandler(r)
	otel.SetLogger(logr.New(r))
	p.tracing = startTracing(c, res, p.Logs(), to, vars)

	otel.SetTracerProvider(p.tracing.global())
	otel.SetTextMapPropagator(propagator)
	if v, ok := record.Protect(func() { p.startMetrics(c, out, res, vars) }); !ok {
		c.Logger.Warn("perfline: code of Config.Metrics or of the global meter provider panicked; some metrics are not available", "panic", record.PanicValue(v))
	}
	if c.Waits != nil {
		r := within.Begin(ctx, within.Grace)
		r.Do(ofWaits, func(context.Context) error {
			c.Waits.Start(c.Logger)
			return nil
		})
		if err := r.End(); err != nil {
			c.Logger.Warn("perfline: the recorder of what slow requests waited for has not started",
				"error", err)
		}
	}
	p.before = p.Stats()
	complete = true
	return p, nil
}

// startMetrics begins to deliver metrics, if there is a reader. The methods of readers and of
// global providers are the program's code.
func (p *Pipeline) startMetrics(c Config, out *outputs.Outputs, res *resource.Resource,
	vars *environ.Reader) {
	if reader := out.Metrics(res); reader != nil {
		p.points = out.Points
		checkMetrics(vars)
		p.meters = sdkmetric.NewMeterProvider(sdkmetric.WithResource(res),
			sdkmetric.WithReader(reader))
		otel.SetMeterProvider(p.meters)
		if err := runtime.Start(runtime.WithMeterProvider(p.meters)); err != nil {
			c.Logger.Warn("perfline: the Go runtime's metrics are not available", "error", err)
		}
	}
	p.startMeasures(c)
	var err error
	if p.metrics, err = p.registerMetrics(otel.GetMeterProvider()); err != nil {
		c.Logger.Warn("perfline: its own counts are not available as metrics", "error", err)
	}
}

// fill gives fields that are not set their defaults.
func (c *Config) fill() {
	c.Logger = record.SafeLogger(c.Logger)
	c.Timeline = cmp.Or(c.Timeline, observer.ProcessTimeline())
	tl := (*record.Timeline)(c.Timeline)
	if c.Waits != nil {
		c.Waits = &guardedWaits{recorder: c.Waits, timeline: tl}
	}
	if c.ProfileExporter != nil {
		c.ProfileExporter = &guardedProfiles{exporter: c.ProfileExporter, timeline: tl}
	}
	c.Traces.Logger = cmp.Or(c.Traces.Logger, c.Logger)
	c.Logs.Logger = cmp.Or(c.Logs.Logger, c.Logger)
	c.Profiles.Logger = cmp.Or(c.Profiles.Logger, c.Logger)
	c.Sessions.Timeline = cmp.Or(c.Sessions.Timeline, c.Timeline)
	c.Sessions.Logger = cmp.Or(c.Sessions.Logger, c.Logger)
}

// startProfiles starts continuous profiling. It returns nil if PERFLINE_PROFILING forbids it.
func startProfiles(ctx context.Context, c Config, res *resource.Resource,
	vars *environ.Reader) (*pyroscope.Pusher, error) {
	if c.Profiles.Resource == nil {
		c.Profiles.Resource = res
	}
	p, err := pyroscope.Start(environ.NewContext(ctx, vars), c.Profiles)
	if errors.Is(err, profiling.ErrNotAllowed) {
		if !vars.Wrong(permission.Variable) { // else it is said already
			c.Logger.Warn("perfline: no profiles are taken", "reason", err)
		}
		return nil, nil //nolint:nilnil // documented: nil means that there is nothing to push
	}
	return p, err
}

// TracerProvider makes spans that belong to this pipeline. It is a [bridge.TracerProvider], or
// Config.TracerProvider, which the global provider wraps then: see [profiling.WrapTracerProvider].
// With OTEL_SDK_DISABLED it is the global one.
func (p *Pipeline) TracerProvider() trace.TracerProvider {
	if p.tracing == nil {
		return otel.GetTracerProvider()
	}
	return p.tracing.provider
}

// MeterProvider makes metrics that belong to this pipeline. It is the global one if Start made
// none.
func (p *Pipeline) MeterProvider() metric.MeterProvider {
	if p.meters == nil {
		return otel.GetMeterProvider()
	}
	return p.meters
}

// Logs delivers log records to the backend: marks, and the records of package bridgelog. It is nil
// unless they are exported.
func (p *Pipeline) Logs() bridge.LogOutput {
	if p.logs == nil {
		return nil // not an interface with a nil pointer
	}
	return p.logs
}

// Resource describes the service in all signals. It is nil with OTEL_SDK_DISABLED.
func (p *Pipeline) Resource() *resource.Resource { return p.resource }

// Recent holds the most recent requests, with and without a backend. It also counts the requests of
// each route and their durations, sampled or not. With Config.TracerProvider, it counts those that
// are recorded.
func (p *Pipeline) Recent() *requests.Store { return (*requests.Store)(p.recent) }

// Sessions records what the program does between a start and a stop. It costs nothing until
// a session is started, and ends with Shutdown.
func (p *Pipeline) Sessions() *sessions.Recorder { return p.sessions }

// Waits is the recorder of what slow requests waited for. It is nil without [Config].Waits.
func (p *Pipeline) Waits() waits.Recorder { return p.waits }

// wholeGrace is how long Flush and Shutdown go on after their context: their parts need a moment to
// return their errors.
const wholeGrace = 3 * within.Grace

// Flush hands over and delivers all that was recorded before the call. It returns when ctx ends, or
// a second later if something hangs: the error names it then.
func (p *Pipeline) Flush(ctx context.Context) error {
	if p.tracing == nil {
		return nil
	}
	r := within.Begin(ctx, wholeGrace)
	if p.profiles != nil {
		r.Go("perfline: the delivery of profiles", p.profiles.Flush)
	}
	if p.exported != nil {
		r.Go("perfline: the delivery of profiles over OTLP", p.exported.Flush)
	}
	r.Do("perfline: the delivery of spans", p.tracing.flush)
	if p.meters != nil {
		r.Do("perfline: the delivery of metrics", p.meters.ForceFlush)
	}
	return r.End()
}

// shutdownFor is how long Shutdown takes at most if its context has no deadline.
const shutdownFor = 10 * time.Second

// Shutdown delivers everything that was recorded, and stops. It returns when ctx ends, or a second
// later if something hangs: the error names it then. A ctx without a deadline gets 10 seconds. If
// spans, marks, measures, log records, metric points or profiles made since Start did not arrive,
// it returns a [*LostError], joined with other errors. The first call decides how long the parts
// have. Further calls wait for it within their own context, and return the same error. Stats stays
// readable.
func (p *Pipeline) Shutdown(ctx context.Context) error {
	ctx, cancel := within.Bounded(ctx, shutdownFor)
	defer cancel()
	return p.shutdown.Do(ctx, wholeGrace, "perfline: Shutdown", p.stop)
}

// stop stops all parts.
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
	if p.waits != nil {
		r.Go("perfline: "+ofWaits, p.waits.Shutdown)
	}
	if p.tracing == nil {
		return r.End()
	}
	if p.profiles != nil {
		r.Go("perfline: the delivery of profiles", p.profiles.Shutdown)
	}
	if p.exported != nil {
		r.Go("perfline: the delivery of profiles over OTLP", p.exported.Shutdown)
	}
	r.Do("perfline: the delivery of spans", p.tracing.shutdown)
	r.Wait()
	if p.measures != nil { // its last points are still delivered
		p.measures.Stop()
	}
	if p.meters != nil { // after the spans and profiles, whose last counts it sends
		r.Do("perfline: the delivery of metrics", p.meters.Shutdown)
	}
	if p.metrics != nil {
		r.Do("perfline: its own counts as metrics",
			func(context.Context) error { return p.metrics.Unregister() })
	}
	var lost error
	r.Do("perfline: the counts", func(context.Context) error {
		lost = p.Stats().lost(p.before)
		return nil
	})
	return errors.Join(lost, r.End())
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	pyroscopego "github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/lab/internal/service"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/otlpprofiles"
	"github.com/perfline/perfline/profiling/sessions"
)

// services are what push compares: each answers a request after a little work, which has
// a span within the request's, and that an event. Those with profiles come after the one
// without that they are compared with.
var services = []struct {
	name     string
	beside   int    // the service without profiles: its own index for itself
	profiles bool   // are sent
	env      string // further variables, with %s for the backend's address
	start    func(context.Context) (*service.Service, error)
}{
	{"otelhttp, OTLP", 0, false, "", openTelemetry},
	{"the same, otel-profiling-go, pyroscope-go", 0, true, pyroscope, openTelemetry},
	{"perfline, OTLP", 2, false, "", withPerfline},
	{"the same, Pyroscope", 2, true, pyroscope, withPerfline},
	{"the same, profiles over OTLP", 2, true, "", withOTLPProfiles},
	{"the same, compressed", 2, true, "OTEL_EXPORTER_OTLP_PROFILES_COMPRESSION=gzip",
		withOTLPProfiles},
	{"perfline, OTLP, a session in progress", 2, false, "", inSession},
}

const (
	pyroscope = "PYROSCOPE_SERVER_ADDRESS=%s"
	// profiles over OTLP have the same: there is no variable for theirs
	interval = "PYROSCOPE_UPLOAD_INTERVAL"
)

const spansOfRequest = 2

// environment is all the environment that a service is given: variables of the caller's
// would change some of them and not others. All sample every trace, by default.
func environment(i int, backend string, every time.Duration) []string {
	env := []string{
		"OTEL_SERVICE_NAME=benchmark", "OTEL_EXPORTER_OTLP_ENDPOINT=" + backend,
		"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_BSP_MAX_QUEUE_SIZE=65536", // that none has to drop spans
		interval + "=" + every.String(),
	}
	if more := services[i].env; more != "" {
		env = append(env, strings.ReplaceAll(more, "%s", backend))
	}
	return env
}

// serve is the process of services[i]: it serves until its input ends.
func serve(ctx context.Context, i int) error {
	if i >= len(services) {
		return fmt.Errorf("-serve %d: must be below %d", i, len(services))
	}
	s, err := services[i].start(ctx)
	if err != nil {
		return err
	}
	return service.Run(ctx, *s)
}

// serving is a service that delivers when its batches and intervals say so.
func serving(h http.Handler, shutdown func(context.Context) error) *service.Service {
	return &service.Service{Handler: h, Flush: func(context.Context) error { return nil },
		Shutdown: shutdown}
}

// openTelemetry is a service as the documentation of OpenTelemetry and of Pyroscope have it.
func openTelemetry(ctx context.Context) (*service.Service, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	var tp trace.TracerProvider = provider
	shutdown := provider.Shutdown
	if address := os.Getenv("PYROSCOPE_SERVER_ADDRESS"); address != "" {
		every, err := time.ParseDuration(os.Getenv(interval))
		if err != nil {
			return nil, err
		}
		profiler, err := pyroscopego.Start(pyroscopego.Config{
			ApplicationName: "benchmark", ServerAddress: address, UploadRate: every,
			// perfline pushes these while the rates of mutexes and blocking are not set.
			ProfileTypes: append([]pyroscopego.ProfileType{pyroscopego.ProfileGoroutines},
				pyroscopego.DefaultProfileTypes...),
		})
		if err != nil {
			return nil, err
		}
		tp = otelpyroscope.NewTracerProvider(provider)
		shutdown = func(ctx context.Context) error {
			return errors.Join(profiler.Stop(),
				provider.Shutdown(ctx))
		}
	}
	tracer := tp.Tracer("benchmark")
	return serving(otelhttp.NewHandler(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, span := tracer.Start(r.Context(), "work")
			sink(spin(20_000))
			span.AddEvent("done")
			span.End()
			_, _ = io.WriteString(w, "ok")
		}), "GET /work", otelhttp.WithTracerProvider(tp)), shutdown), nil
}

func withPerfline(ctx context.Context) (*service.Service, error) {
	return startPerfline(ctx, perfline.Config{})
}

func withOTLPProfiles(ctx context.Context) (*service.Service, error) {
	every, err := time.ParseDuration(os.Getenv(interval))
	if err != nil {
		return nil, err
	}
	return startPerfline(ctx,
		perfline.Config{ProfileExporter: otlpprofiles.New(otlpprofiles.Config{Interval: every})})
}

func startPerfline(ctx context.Context, c perfline.Config) (*service.Service, error) {
	pl, err := perfline.Start(ctx, c) // the environment says the rest
	if err != nil {
		return nil, err
	}
	return serving(bridgehttp.Middleware(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx, t := marks.Start(r.Context(), "work")
			sink(spin(20_000))
			marks.Mark(ctx, "done")
			t.End()
			_, _ = io.WriteString(w, "ok")
		})), pl.Shutdown), nil
}

// inSession is withPerfline while one session after the other records it, each for two
// seconds: putting its events together is in what it costs.
func inSession(ctx context.Context) (*service.Service, error) {
	s, err := withPerfline(ctx)
	if err != nil {
		return nil, err
	}
	recorder := sessions.NewRecorder(sessions.Config{})
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- oneAfterTheOther(ctx, recorder) }()
	shutdown := s.Shutdown
	s.Shutdown = func(ctx context.Context) error {
		cancel()
		err := <-done
		recorder.Close()
		return errors.Join(err, shutdown(ctx))
	}
	return s, nil
}

func oneAfterTheOther(ctx context.Context, r *sessions.Recorder) error {
	for ctx.Err() == nil {
		id, err := r.Start(ctx, sessions.StartOptions{})
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(2 * time.Second):
		}
		s, err := r.Stop(context.WithoutCancel(ctx), id)
		if err != nil {
			return err
		}
		if n := s.Stats(); n.Dropped+n.Lost > 0 {
			return fmt.Errorf("a session dropped %d entries and lost %d", n.Dropped, n.Lost)
		}
		if err := r.Release(id); err != nil {
			return err
		}
	}
	return nil
}

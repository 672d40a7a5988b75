package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"time"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	pyroscopego "github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/benchmarks/internal/process"
	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/sessions"
)

// services are what push compares: each answers a request after a little work, which has
// a span within the request's, and that an event.
var services = []struct {
	name             string
	traced, profiled bool
	start            func(context.Context) (*service, error)
}{
	{"no telemetry", false, false, bare},
	{"otelhttp, OTLP", true, false, openTelemetry},
	{"the same, otel-profiling-go, pyroscope-go", true, true, openTelemetry},
	{"perfline, OTLP", true, false, withPerfline},
	{"the same, Pyroscope", true, true, withPerfline},
	{"perfline, OTLP, a session in progress", true, false, inSession},
}

const spansOfRequest = 2

// environment is all the environment that a service is given: variables of the caller's
// would change some of them and not others. All sample every trace, by default.
func environment(i int, backend string, interval time.Duration) []string {
	env := []string{
		"OTEL_SERVICE_NAME=benchmark", "OTEL_EXPORTER_OTLP_ENDPOINT=" + backend, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_BSP_MAX_QUEUE_SIZE=65536", // that none has to drop spans
	}
	if services[i].profiled {
		env = append(env, "PYROSCOPE_SERVER_ADDRESS="+backend, "PYROSCOPE_UPLOAD_INTERVAL="+interval.String())
	}
	return env
}

// A service handles requests until it is shut down, which delivers what is left.
type service struct {
	handler  http.Handler
	shutdown func(context.Context) error
}

// serve is the process of services[i]: it serves until its input ends.
func serve(ctx context.Context, i int) error {
	if i >= len(services) {
		return fmt.Errorf("-serve %d: must be below %d", i, len(services))
	}
	// Memory without pointers, as every service has some in use: with the little that these
	// keep, garbage would be collected after every few hundred requests.
	inUse := make([]byte, 16<<20)
	defer runtime.KeepAlive(inUse)
	s, err := services[i].start(ctx)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /work", s.handler)
	mux.HandleFunc("GET /used", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(usedSoFar()) // who cannot read it reports that
	})
	srv := httptest.NewServer(mux)
	fmt.Println(srv.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	srv.Close()
	return errors.Join(err, s.shutdown(ctx))
}

// used is what a process has used since it began.
type used struct {
	CPU       time.Duration
	Allocated uint64 // bytes
}

func usedSoFar() used {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return used{CPU: process.CPUTime(), Allocated: m.TotalAlloc}
}

func bare(context.Context) (*service, error) {
	return &service{http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		sink(spin(20_000))
		_, _ = io.WriteString(w, "ok")
	}), func(context.Context) error { return nil }}, nil
}

// openTelemetry is a service as the documentation of OpenTelemetry and of Pyroscope have it.
func openTelemetry(ctx context.Context) (*service, error) {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, err
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	var tp trace.TracerProvider = provider
	shutdown := provider.Shutdown
	if address := os.Getenv("PYROSCOPE_SERVER_ADDRESS"); address != "" {
		interval, err := time.ParseDuration(os.Getenv("PYROSCOPE_UPLOAD_INTERVAL"))
		if err != nil {
			return nil, err
		}
		profiler, err := pyroscopego.Start(pyroscopego.Config{
			ApplicationName: "benchmark", ServerAddress: address, UploadRate: interval,
			// What perfline pushes while nobody has set the rates of mutexes and blocking.
			ProfileTypes: append([]pyroscopego.ProfileType{pyroscopego.ProfileGoroutines}, pyroscopego.DefaultProfileTypes...),
		})
		if err != nil {
			return nil, err
		}
		tp = otelpyroscope.NewTracerProvider(provider)
		shutdown = func(ctx context.Context) error { return errors.Join(profiler.Stop(), provider.Shutdown(ctx)) }
	}
	tracer := tp.Tracer("benchmark")
	return &service{otelhttp.NewHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, span := tracer.Start(r.Context(), "work")
		sink(spin(20_000))
		span.AddEvent("done")
		span.End()
		_, _ = io.WriteString(w, "ok")
	}), "GET /work", otelhttp.WithTracerProvider(tp)), shutdown}, nil
}

func withPerfline(ctx context.Context) (*service, error) {
	pl, err := perfline.Start(ctx, perfline.Config{}) // the environment says the rest
	if err != nil {
		return nil, err
	}
	return &service{bridge.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, t := marks.Start(r.Context(), "work")
		sink(spin(20_000))
		marks.Mark(ctx, "done")
		t.End()
		_, _ = io.WriteString(w, "ok")
	})), pl.Shutdown}, nil
}

// inSession is withPerfline while one session after the other records it, each for two
// seconds: putting its events together is in what it costs.
func inSession(ctx context.Context) (*service, error) {
	s, err := withPerfline(ctx)
	if err != nil {
		return nil, err
	}
	recorder := sessions.NewRecorder(sessions.Config{})
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error)
	go func() { done <- oneAfterTheOther(ctx, recorder) }()
	shutdown := s.shutdown
	s.shutdown = func(ctx context.Context) error {
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

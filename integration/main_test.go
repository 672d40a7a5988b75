package integration

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/observer"
)

// The backends are shared by the tests that do not kill them; each uses a service
// name of its own.
var (
	jaeger    *backend.Jaeger
	pyroscope *backend.Pyroscope
)

// patience is how long something that must come may take. Only a hang takes so long.
const patience = 10 * time.Minute

// programs is a folder for programs that several tests run.
var programs string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	if service := os.Getenv(mortalVariable); service != "" {
		fmt.Fprintln(os.Stderr, mortal(context.Background(), service))
		return 1
	}
	err := backend.Build(context.Background(), "collector", "jaeger", "prometheus", "pyroscope")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// A busy machine gives up no request: a second attempt may store spans twice.
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_BSP_EXPORT_TIMEOUT"} {
		if err := os.Setenv(name, strconv.Itoa(int(patience.Milliseconds()))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	if programs, err = os.MkdirTemp("", "programs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	if jaeger, err = backend.StartJaeger(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop("jaeger", jaeger, &code)
	if pyroscope, err = backend.StartPyroscope(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer stop("pyroscope", pyroscope, &code)
	return m.Run()
}

// stop ends a backend after the tests and shows what it printed if they failed.
func stop(name string, b interface {
	Log() string
	Stop() error
}, code *int) {
	if *code != 0 {
		fmt.Fprintf(os.Stderr, "%s's log:\n%s\n", name, b.Log())
	}
	if err := b.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		*code = 1
	}
}

// joining says that start joins a provider of the SDK. See overBoth.
var joining bool

// overBoth runs a test over the provider that perfline.Start makes, and over one of the SDK that it joins.
func overBoth(t *testing.T, test func(*testing.T)) {
	t.Helper()
	t.Run("perfline", test)
	t.Run("SDK", func(t *testing.T) {
		joining = true
		defer func() { joining = false }()
		test(t)
	})
}

// join has the program make the provider, and shut it down at the end of the test.
func join(t *testing.T, c *perfline.Config) {
	t.Helper()
	c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(c.Sampler),
		sdktrace.WithResource(resource.NewSchemaless(append(c.Attributes, semconv.ServiceName(c.Service))...)))
	c.Sampler = nil
	t.Cleanup(func() {
		if err := c.TracerProvider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// ownJaeger is one that a test may kill, or whose services it shares with no other.
func ownJaeger(ctx context.Context, t *testing.T) *backend.Jaeger {
	t.Helper()
	j, err := backend.StartJaeger(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Stop(); err != nil {
			t.Error(err)
		}
	})
	return j
}

// ownPyroscope is one that a test may kill, or whose limits it tries.
func ownPyroscope(ctx context.Context, t *testing.T) *backend.Pyroscope {
	t.Helper()
	p, err := backend.StartPyroscope(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("pyroscope's log:\n%s", p.Log())
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// start starts a pipeline to j with a process timeline of its own.
func start(t *testing.T, j *backend.Jaeger, change func(*perfline.Config)) (*perfline.Pipeline, *observer.Timeline, *logLines) {
	t.Helper()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "200")
	tl := observer.NewTimeline(observer.TimelineOptions{})
	lines := &logLines{}
	c := perfline.Config{
		Service:  serviceName(t),
		Traces:   exporter.Config{Endpoint: j.OTLPGRPC(), QueueSize: 1 << 16},
		Timeline: tl,
		Logger:   slog.New(slog.NewTextHandler(lines, nil)),
	}
	if change != nil {
		change(&c)
	}
	if joining {
		join(t, &c)
	}
	pl, err := perfline.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return pl, tl, lines
}

func server(pl *perfline.Pipeline, tl *observer.Timeline) bridgehttp.Server {
	return bridgehttp.Server{TracerProvider: pl.TracerProvider(), Propagators: propagation.TraceContext{}, Timeline: tl}
}

var serial struct {
	sync.Mutex
	n int
}

// serviceName is a name no other test has, nor another -cpu or -count run of
// this one.
func serviceName(t *testing.T) string {
	serial.Lock()
	defer serial.Unlock()
	serial.n++
	return fmt.Sprintf("%s-%d", t.Name(), serial.n)
}

// logLines keeps what is logged, a line each.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *logLines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.lines...)
}

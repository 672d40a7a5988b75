package contrib_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/pprof/profile"
	pyroscopego "github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/pyroscope"
)

// A pyroscopeServer takes what pyroscope-go's agent and perfline push, and keeps the agent's CPU profiles.
type pyroscopeServer struct {
	*httptest.Server
	mu       sync.Mutex
	profiles []*profile.Profile
}

func newPyroscopeServer(t *testing.T) *pyroscopeServer {
	s := &pyroscopeServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/ingest") {
			return
		}
		f, _, err := r.FormFile("profile")
		if err != nil {
			return
		}
		data, err := io.ReadAll(f)
		if err != nil {
			return
		}
		p, err := profile.Parse(bytes.NewReader(data))
		if err != nil || len(p.SampleType) < 2 || p.SampleType[1].Type != "cpu" {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.profiles = append(s.profiles, p)
	}))
	t.Cleanup(s.Close)
	return s
}

// cpuTime returns the CPU time of the agent's profiles, and the part with the id of a span.
func (s *pyroscopeServer) cpuTime() (all, ofSpans time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.profiles {
		for _, sample := range p.Sample {
			all += time.Duration(sample.Value[1])
			if len(sample.Label["span_id"]) > 0 {
				ofSpans += time.Duration(sample.Value[1])
			}
		}
	}
	return all, ofSpans
}

// pyroscope-go's agent takes the CPU profiler from perfline, whichever is started first. perfline's traces are complete, the agent's profiles
// too, and every one of perfline's features that has no samples then reports it.
func TestBesideTheAgent(t *testing.T) {
	for _, order := range []string{"the agent first", "perfline first"} {
		t.Run(order, func(t *testing.T) {
			server := newPyroscopeServer(t)
			startAgent := func() *pyroscopego.Profiler {
				agent, err := pyroscopego.Start(pyroscopego.Config{
					ApplicationName: "shop", ServerAddress: server.URL, UploadRate: time.Second, ProfileTypes: []pyroscopego.ProfileType{pyroscopego.ProfileCPU},
				})
				if err != nil {
					t.Fatal(err)
				}
				return agent
			}
			var agent *pyroscopego.Profiler
			if order == "the agent first" {
				agent = startAgent()
			}
			spans := tracetest.NewInMemoryExporter()
			pl, err := perfline.Start(t.Context(), perfline.Config{
				SpanExporter: keeping{spans},
				Profiles:     pyroscope.Config{ServerAddress: server.URL},
			})
			if err != nil {
				t.Fatal(err)
			}
			if agent == nil {
				agent = startAgent()
			}
			waitForPause(t, pl)
			byCPU, byWall := startProfiler(t, profiling.Options{}), startProfiler(t, profiling.Options{Wall: true})

			handler := bridgehttp.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				defer marks.Time(r.Context(), "work").End()
				spin(100 * time.Millisecond)
			}))
			requests, used := 0, cputime.Process()
			for until := time.Now().Add(3 * time.Second); time.Now().Before(until); requests++ {
				handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
			}

			used = cputime.Process() - used
			if state := pl.Stats().Profiles.State; state != profiling.Paused {
				t.Errorf("continuous profiling is %s, want paused", state)
			}
			if stats := byCPU.Stats(); byCPU.State() != profiling.Paused || stats.BusyTime < 2*time.Second {
				t.Errorf("the profiler is %s, and was busy for %v, want paused for most of 3 s", byCPU.State(), stats.BusyTime)
			}
			if _, err := byCPU.Stop(); !errors.Is(err, profiling.ErrBusy) {
				t.Errorf("the profiler's error is %v, want ErrBusy", err)
			}
			if trace, err := byWall.Stop(); err != nil || len(trace.Samples) == 0 {
				t.Errorf("the profiler by the wall clock has %v, want samples", err)
			}
			if err := agent.Stop(); err != nil {
				t.Error(err)
			}
			if err := pl.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if got := len(spans.GetSpans()); got != 2*requests {
				t.Errorf("there are %d spans of %d requests, want 2 of each", got, requests)
			}
			all, ofSpans := server.cpuTime()
			if all < used*8/10 || ofSpans < all*8/10 {
				t.Errorf("the agent's profiles have %v, %v of spans, of %v that the process used, want most of both", all, ofSpans, used)
			}
		})
	}
}

// waitForPause returns when the agent has taken the CPU profiler. Its Start returns before that.
func waitForPause(t *testing.T, pl *perfline.Pipeline) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); pl.Stats().Profiles.State != profiling.Paused; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("continuous profiling is %s beside the agent, want paused", pl.Stats().Profiles.State)
		}
	}
}

func startProfiler(t *testing.T, o profiling.Options) *profiling.Profiler {
	t.Helper()
	p, err := profiling.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func spin(d time.Duration) {
	for until := time.Now().Add(d); time.Now().Before(until); {
	}
}

// A keeping exporter has its spans also after Shutdown.
type keeping struct{ *tracetest.InMemoryExporter }

func (keeping) Shutdown(context.Context) error { return nil }

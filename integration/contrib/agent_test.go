package contrib_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
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

// The orders in which the two are started.
var orders = []string{"the agent first", "perfline first"}

// pyroscope-go's agent takes the CPU profiler from perfline, whichever is started first. perfline's traces are complete, the agent's profiles
// have spans, and every one of perfline's features that has no samples then reports it. TestLabBesideTheAgent has the shares.
func TestBesideTheAgent(t *testing.T) {
	for _, order := range orders {
		t.Run(order, func(t *testing.T) {
			_, all, ofSpans := besideTheAgent(t, order, 500*time.Millisecond, time.Hour) // nobody has the profiler for a moment when the agent uploads
			if all == 0 || ofSpans == 0 {
				t.Errorf("the agent's profiles have %v, %v of spans, want some of both", all, ofSpans)
			}
		})
	}
}

// besideTheAgent handles requests until they have used so much CPU time. It returns what the process used, and
// what the agent's profiles have, of all and of spans. The agent uploads that often, and at its end.
func besideTheAgent(t *testing.T, order string, length, uploads time.Duration) (used, all, ofSpans time.Duration) {
	t.Helper()
	server := newPyroscopeServer(t)
	startAgent := func() *pyroscopego.Profiler {
		agent, err := pyroscopego.Start(pyroscopego.Config{
			ApplicationName: "shop", ServerAddress: server.URL, UploadRate: uploads, ProfileTypes: []pyroscopego.ProfileType{pyroscopego.ProfileCPU},
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
		spin(20 * time.Millisecond)
	}))
	requests, before := 0, cputime.Process()
	for ; cputime.Process()-before < length || byWall.Stats().Samples == 0; requests++ {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}

	used = cputime.Process() - before
	if state := pl.Stats().Profiles.State; state != profiling.Paused {
		t.Errorf("continuous profiling is %s, want paused", state)
	}
	if stats := byCPU.Stats(); byCPU.State() != profiling.Paused || stats.BusyTime == 0 {
		t.Errorf("the profiler is %s, and was busy for %v, want paused", byCPU.State(), stats.BusyTime)
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
	all, ofSpans = server.cpuTime()
	return used, all, ofSpans
}

// waitForPause returns when the agent has taken the CPU profiler. Its Start returns before that.
func waitForPause(t *testing.T, pl *perfline.Pipeline) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); pl.Stats().Profiles.State != profiling.Paused || !agentProfiles(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("continuous profiling is %s beside the agent, want paused", pl.Stats().Profiles.State)
		}
	}
}

// agentProfiles reports whether the agent has the CPU profiler. For a moment after it took the profiler from perfline, nobody has it.
func agentProfiles() bool {
	all := make([]byte, 1<<20)
	stacks := string(all[:runtime.Stack(all, true)])
	return strings.Contains(stacks, "runtime/pprof.profileWriter") &&
		!strings.Contains(stacks, "cpuprof.(*gate).Write") && // perfline's profile ends in it
		!strings.Contains(stacks, "runtime/pprof.StopCPUProfile")
}

func startProfiler(t *testing.T, o profiling.Options) *profiling.Profiler {
	t.Helper()
	p, err := profiling.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// spin uses so much CPU time, however long that takes.
func spin(d time.Duration) {
	for before := cputime.Process(); cputime.Process()-before < d; {
	}
}

// A keeping exporter has its spans also after Shutdown.
type keeping struct{ *tracetest.InMemoryExporter }

func (keeping) Shutdown(context.Context) error { return nil }

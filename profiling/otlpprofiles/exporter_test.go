package otlpprofiles_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	pprofpb "github.com/google/pprof/profile"
	profilespb "go.opentelemetry.io/proto/slim/otlp/profiles/v1development"
	"google.golang.org/protobuf/proto"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/otlpprofiles"
	"github.com/perfline/perfline/profiling/profile"
)

// played is a profiler whose traces have three samples of a function.
type played struct{}

func (*played) TakeTrace() (*profile.Trace, error) {
	b := profile.NewBuilder(nil)
	for i := range 3 {
		b.Add([]*profile.Call{{Name: "main.work", File: "main.go", Line: i}}, profile.Sample{Timestamp: time.Duration(i), ContextID: profile.None, Weight: time.Millisecond})
	}
	t := b.Trace(nil)
	t.Engine, t.Stopped, t.Stats.Lost = profile.EngineCPU, time.Second, 1
	return t, nil
}

func (p *played) Stop() (*profile.Trace, error) { return p.TakeTrace() }
func (p *played) State() profiling.State        { return profiling.Started }
func (*played) Engine() profile.Engine          { return profile.EngineCPU }
func (*played) Fallback() string                { return "" }

// free calls f, which takes no CPU time.
func free(f func()) time.Duration { f(); return 0 }

// process is a process with a CPU profile and a heap profile of two sample types.
func process() continuous.Process {
	clock := func() time.Duration { return time.Second } // when the traces stop
	return continuous.Process{Now: time.Now, Clock: clock, Spent: free, Profiler: func(func()) (continuous.Profiler, error) { return &played{}, nil }, Snapshots: []continuous.Snapshot{{Kind: continuous.Heap, Take: func(w io.Writer) error {
		f := &pprofpb.Function{ID: 1, Name: "main.make"}
		l := &pprofpb.Location{ID: 1, Line: []pprofpb.Line{{Function: f}}}
		p := &pprofpb.Profile{
			SampleType: []*pprofpb.ValueType{{Type: "alloc_space", Unit: "bytes"}, {Type: "inuse_space", Unit: "bytes"}},
			Function:   []*pprofpb.Function{f}, Location: []*pprofpb.Location{l}, Sample: []*pprofpb.Sample{{Location: []*pprofpb.Location{l}, Value: []int64{1, 2}}},
		}
		return p.Write(w)
	}}}}
}

// perTake is how many profiles process has at a time.
const perTake = 3

// A receiver keeps what it is sent. Its answer to all is answer.
type receiver struct {
	mu     sync.Mutex // guards what follows
	bodies [][]byte
	answer exporter.Answer
	closed int
}

func (r *receiver) Send(_ context.Context, body []byte) exporter.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, body)
	return r.answer
}

func (r *receiver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed++
	return nil
}

func (r *receiver) String() string { return "the test" }

func (r *receiver) received() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.bodies)
}

func start(t *testing.T, c otlpprofiles.Config, log io.Writer) *otlpprofiles.Exporter {
	t.Helper()
	e := otlpprofiles.NewExporter(c)
	if err := e.StartProcess(t.Context(), nil, slog.New(slog.NewTextHandler(log, nil)), process()); err != nil {
		t.Fatal(err)
	}
	return e
}

// delivered returns the counts of the delivery.
func delivered(s profiling.ExporterStats) profiling.ExporterStats {
	s.ContinuousStats = profiling.ContinuousStats{}
	return s
}

// Profiles are taken every interval, by Flush and by Shutdown. Each is counted once.
func TestExporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{}
		var log bytes.Buffer
		e := start(t, otlpprofiles.Config{Sender: r}, &log)
		time.Sleep(31 * time.Second) // the default interval is 15 s
		synctest.Wait()
		if n := r.received(); n != 2*2 {
			t.Errorf("%d requests in two intervals, want two each", n)
		}
		if err := e.Flush(t.Context()); err != nil {
			t.Error(err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		s := e.Stats()
		if want := (profiling.ExporterStats{Accepted: 4 * perTake, Delivered: 4 * perTake}); delivered(s) != want {
			t.Errorf("counts are %+v, want %+v", s, want)
		}
		if s.LostSamples != 4 || s.Failed != 0 || s.Engine != profile.EngineCPU {
			t.Errorf("counts of profiling are %+v", s.ContinuousStats)
		}
		if r.received() != 4*2 || r.closed != 1 || log.Len() > 0 {
			t.Errorf("%d requests, the sender was closed %d times, logged %s", r.received(), r.closed, &log)
		}
		if err := errors.Join(e.Flush(t.Context()), e.Shutdown(t.Context())); err != nil || r.received() != 4*2 {
			t.Errorf("after Shutdown: %v, %d requests", err, r.received())
		}
		if err := e.StartProcess(t.Context(), nil, nil, process()); err == nil || !strings.Contains(err.Error(), "started already") {
			t.Errorf("a second Start: %v", err)
		}
	})
}

// An exporter does nothing before Start.
func TestExporterBeforeStart(t *testing.T) {
	e := otlpprofiles.New(otlpprofiles.Config{Interval: -1})
	if err := errors.Join(e.Flush(t.Context()), e.Shutdown(t.Context())); err != nil || e.Stats() != (profiling.ExporterStats{}) {
		t.Errorf("got %v, %+v", err, e.Stats())
	}
}

// The receiver's answers decide what becomes of profiles.
func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer exporter.Answer
		want   profiling.ExporterStats // after a Shutdown
		lines  int
		says   string
	}{
		{"taken", exporter.Answer{}, profiling.ExporterStats{Accepted: perTake, Delivered: perTake}, 0, ""},
		{"refused", exporter.Answer{Err: errors.New("no such tenant")}, profiling.ExporterStats{Accepted: perTake, Refused: perTake}, 1, "no such tenant"},
		{"some turned down", exporter.Answer{Rejected: 1, Message: "too old"}, profiling.ExporterStats{Accepted: perTake, Delivered: 1, Refused: 2}, 1, "too old"},
		{"away", exporter.Answer{Err: errors.New("connection refused"), Retry: true}, profiling.ExporterStats{Accepted: perTake, Pending: perTake}, 1, "connection refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				e := start(t, otlpprofiles.Config{Sender: &receiver{answer: c.answer}}, &log)
				err := e.Shutdown(t.Context())
				got := delivered(e.Stats())
				got.PendingBytes, got.Retries = 0, 0
				if got != c.want {
					t.Errorf("counts are %+v, want %+v", got, c.want)
				}
				n := c.want.Accepted - c.want.Delivered
				if (n > 0) != (err != nil) || n > 0 && !strings.Contains(err.Error(), fmt.Sprintf("otlpprofiles: %d of 3 profiles did not reach the test: %d ", n, n)) || n > 0 && !strings.HasSuffix(err.Error(), ": "+c.says) {
					t.Errorf("Shutdown returned %v", err)
				}
				if n := strings.Count(log.String(), "\n"); n != c.lines || !strings.Contains(log.String(), c.says) {
					t.Errorf("logged %s", &log)
				}
			})
		})
	}
}

// Flush returns what was lost.
func TestFlushThatLoses(t *testing.T) {
	e := start(t, otlpprofiles.Config{Sender: &receiver{answer: exporter.Answer{Err: errors.New("no such tenant")}}}, io.Discard)
	if err := e.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "no such tenant") {
		t.Errorf("got %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Flush(over); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that is over: %v", err)
	}
	_ = e.Shutdown(t.Context())
}

// A receiver that does not know profiles gets a request every ten minutes. The log has one line.
func TestUnknownSignal(t *testing.T) {
	requests := make(chan struct{}, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1development/profiles" {
			t.Errorf("a request to %s", r.URL.Path)
		}
		requests <- struct{}{}
		http.NotFound(w, r)
	}))
	defer s.Close()
	sender := &receiver{answer: exporter.Answer{Err: errors.New("no topic for profiles"), Unknown: true}}
	for _, c := range []struct {
		name     string
		config   otlpprofiles.Config
		requests func() int
	}{
		{"HTTP", otlpprofiles.Config{Endpoint: s.URL, Protocol: "http/protobuf", Interval: 30 * time.Minute}, func() int { return len(requests) }},
		{"Sender", otlpprofiles.Config{Sender: sender, Interval: 30 * time.Minute}, sender.received},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log bytes.Buffer
			e := start(t, c.config, &log)
			for range 5 {
				if err := e.Flush(t.Context()); err == nil {
					t.Error("Flush returned no error")
				}
			}
			_ = e.Shutdown(t.Context())
			if n := c.requests(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
			if got := e.Stats(); got.Accepted != 6*perTake || got.Refused+got.Unanswered+got.Dropped != 6*perTake {
				t.Errorf("counts are %+v", got)
			}
			if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "the receiver does not know profiles") {
				t.Errorf("logged %s", &log)
			}
		})
	}
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		name   string
		config otlpprofiles.Config
		env    map[string]string
		says   string
	}{
		{"interval", otlpprofiles.Config{Interval: time.Millisecond}, nil, "otlpprofiles: Interval 1ms: must be between 1s and 30m0s"},
		{"leak interval", otlpprofiles.Config{LeakInterval: time.Millisecond}, nil, "otlpprofiles: LeakInterval 1ms: must be between 1s and 24h0m0s, or negative for none"},
		{"queue", otlpprofiles.Config{QueueBytes: -1}, nil, "otlpprofiles: QueueBytes -1: must not be negative"},
		{"spans", otlpprofiles.Config{Spans: 9}, nil, "Spans 9: must be"},
		{"endpoint", otlpprofiles.Config{Endpoint: "localhost"}, nil, `Endpoint "localhost"`},
		{"protocol", otlpprofiles.Config{Protocol: "http/json"}, nil, `Protocol "http/json"`},
		{"variable", otlpprofiles.Config{}, map[string]string{"OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT": "h"}, `OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT "h"`},
		{"not allowed", otlpprofiles.Config{}, map[string]string{"PERFLINE_PROFILING": "off"}, profiling.ErrNotAllowed.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			e := otlpprofiles.New(c.config)
			if err := e.Start(t.Context(), nil, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want %q", err, c.says)
			}
			if err := e.Shutdown(t.Context()); err != nil {
				t.Errorf("Shutdown after it returned %v", err)
			}
		})
	}
}

// Where profiles go: by the field, the signal's variable, or the one of all signals.
func TestEndpoints(t *testing.T) {
	for _, c := range []struct {
		name     string
		env      func(url string) (name, value string)
		field    func(url string) otlpprofiles.Config
		wantPath string
	}{
		{"field", nil, func(url string) otlpprofiles.Config {
			return otlpprofiles.Config{Endpoint: url, Protocol: "http/protobuf", Headers: map[string]string{"x-token": "t"}}
		}, "/v1development/profiles"},
		{"field with a path", nil, func(url string) otlpprofiles.Config {
			return otlpprofiles.Config{Endpoint: url + "/p", Protocol: "http/protobuf", Headers: map[string]string{"x-token": "t"}}
		}, "/p"},
		{"all signals", func(url string) (string, string) { return "OTEL_EXPORTER_OTLP_ENDPOINT", url }, nil, "/v1development/profiles"},
		{"this signal", func(url string) (string, string) { return "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT", url + "/q" }, nil, "/q"},
	} {
		t.Run(c.name, func(t *testing.T) {
			paths := make(chan string, 10)
			s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if err := proto.Unmarshal(body, &profilespb.ProfilesData{}); err != nil || r.Header.Get("X-Token") != "t" {
					t.Errorf("a body with the error %v, and the header %q", err, r.Header.Get("X-Token"))
				}
				paths <- r.URL.Path
			}))
			defer s.Close()
			config := otlpprofiles.Config{}
			if c.field != nil {
				config = c.field(s.URL)
			} else {
				t.Setenv(c.env(s.URL))
				t.Setenv("OTEL_EXPORTER_OTLP_PROFILES_PROTOCOL", "http/protobuf")
				t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-token=t")
			}
			e := start(t, config, io.Discard)
			if err := e.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			if len(paths) != 2 || <-paths != c.wantPath {
				t.Errorf("%d more requests to other paths than %s", len(paths), c.wantPath)
			}
		})
	}
}

// The receiver's texts and all verbs of fmt leave out secrets.
func TestSecrets(t *testing.T) {
	const secret = "c4nary"
	c := otlpprofiles.Config{Endpoint: "http://user:" + secret + "@h:4317/?token=" + secret, Headers: map[string]string{"x-token": secret}}
	e := otlpprofiles.NewExporter(c)
	text, _ := c.MarshalText()
	all := fmt.Sprintf("%v %+v %#v %s %q %d | %v %+v %#v | %s | %v", c, c, c, c, c, c, e, e, e, text, struct{ E any }{e})
	if strings.Contains(all, secret) || !strings.Contains(all, "x-token") {
		t.Errorf("printed as %s", all)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "quoting "+r.Header.Get("X-Token"), http.StatusUnauthorized)
	}))
	defer s.Close()
	var log bytes.Buffer
	e = start(t, otlpprofiles.Config{Endpoint: s.URL, Protocol: "http/protobuf", Headers: c.Headers}, &log)
	err := e.Flush(t.Context())
	if err == nil || strings.Contains(err.Error()+log.String(), secret) || !strings.Contains(log.String(), "quoting") {
		t.Errorf("error %v, logged %s", err, &log)
	}
	_ = e.Shutdown(t.Context())
}

// The build ids of the mapping are the ones of the program's file.
func TestBuildID(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	want, err := exec.CommandContext(t.Context(), "go", "tool", "buildid", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	r := &receiver{}
	e := start(t, otlpprofiles.Config{Sender: r}, io.Discard)
	if err := e.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id := strings.TrimSpace(string(want)); id == "" || !bytes.Contains(r.bodies[0], []byte(id)) {
		t.Errorf("the request has no build id %q", id)
	}
}

// Two exporters at once have all profiles each.
func TestTwoExporters(t *testing.T) {
	var both [2]*receiver
	var exporters [2]profiling.Exporter
	for i := range both {
		both[i] = &receiver{}
		exporters[i] = otlpprofiles.New(otlpprofiles.Config{Sender: both[i]})
		if err := exporters[i].Start(t.Context(), nil, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	for both[0].kinds()["cpu"] == 0 || both[1].kinds()["cpu"] == 0 {
		profiling.ForceSample() // as soon as the profilers have the CPU profiler
		for _, e := range exporters {
			if err := e.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, e := range exporters {
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if kinds := both[i].kinds(); len(kinds) != 3 {
			t.Errorf("exporter %d sent profiles of %v", i, kinds)
		}
	}
}

// kinds returns how many requests have a profile of some kinds.
func (r *receiver) kinds() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	kinds := map[string]int{}
	for _, body := range r.bodies {
		for _, kind := range []string{"cpu", "heap", "goroutine"} {
			if bytes.Contains(body, []byte("\x0a"+string(rune(len(kind)))+kind)) {
				kinds[kind]++
			}
		}
	}
	return kinds
}

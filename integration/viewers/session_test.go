package viewers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline"
	"github.com/perfline/perfline/bridge/bridgehttp"
	"github.com/perfline/perfline/internal/viewers"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/profiling/profile"
	"github.com/perfline/perfline/profiling/sessions"
)

// record records a few requests of a program that computes.
func record(ctx context.Context, t *testing.T) *sessions.Session {
	t.Helper()
	pl, err := perfline.Start(ctx, perfline.Config{Service: "viewers"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := pl.Shutdown(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	recorder := sessions.NewRecorder(sessions.Config{})
	t.Cleanup(recorder.Close)
	id, err := recorder.Start(ctx, sessions.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hash/{text}", func(w http.ResponseWriter, r *http.Request) {
		marks.Mark(r.Context(), "begun", slog.String("text", r.PathValue("text")), slog.Int("n", 1))
		defer marks.Time(r.Context(), "compute").End()
		for before := sampled(recorder); r.Context().Err() == nil; {
			fmt.Fprintln(w, compute(100*time.Millisecond))
			if sampled(recorder) >= before+5 { // on a busy machine that takes longer
				break
			}
		}
	})
	handler := bridgehttp.Middleware(mux)
	for _, path := range []string{"/hash/a", "/hash/b"} {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, path, http.NoBody))
	}
	s, err := recorder.Stop(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sampled is how many samples its session has.
func sampled(r *sessions.Recorder) uint64 { return r.Statuses()[0].Samples }

//go:noinline
func compute(d time.Duration) (sum int) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		for i := range 1000 {
			sum ^= i * sum
		}
	}
	return sum
}

// All viewers open a real recording, and show all of it.
func TestSession(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := record(ctx, t)
	if tls := s.Timelines(); len(tls) < 2 || s.Trace() == nil || len(s.Trace().Samples) == 0 {
		t.Fatalf("recorded were %+v, and a trace %+v; want two requests, and samples", tls, s.Trace())
	}
	t.Run("firefox", func(t *testing.T) { sessionInFirefox(ctx, t, s) })
	t.Run("speedscope", func(t *testing.T) { sessionInSpeedscope(ctx, t, s) })
	t.Run("pprof", func(t *testing.T) {
		var file bytes.Buffer
		if err := s.Trace().WritePprof(&file); err != nil {
			t.Fatal(err)
		}
		out, err := output(exec.CommandContext(ctx, "go", "tool", "pprof", "-raw", save(t, "profile.pb.gz", file.Bytes())))
		if err != nil {
			t.Fatal(err)
		}
		for name := range spent(s, slices.Values(s.Trace().Samples)) {
			if name != profile.NoStack && !strings.Contains(string(out), " "+name+" ") {
				t.Errorf("pprof shows\n%s\nwant the function %s", out, name)
			}
		}
	})
	t.Run("json", func(t *testing.T) {
		var file bytes.Buffer
		if err := s.Trace().WriteJSON(&file); err != nil {
			t.Fatal(err)
		}
		var trace struct{ Samples []json.RawMessage }
		if err := json.Unmarshal(file.Bytes(), &trace); err != nil || len(trace.Samples) != len(s.Trace().Samples) {
			t.Errorf("the JSON has %d samples (%v), want %d", len(trace.Samples), err, len(s.Trace().Samples))
		}
	})
}

func sessionInFirefox(ctx context.Context, t *testing.T, s *sessions.Session) {
	t.Helper()
	var file bytes.Buffer
	if err := viewers.WriteFirefox(&file, s); err != nil {
		t.Fatal(err)
	}
	threads, err := shownThreads(ctx, t, file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	tls := s.Timelines()
	if len(threads) != len(tls) {
		t.Fatalf("%d threads are shown of %d timelines", len(threads), len(tls))
	}
	for i, tl := range tls {
		var want []sessions.Event
		for e := range s.All(tl.ID) {
			if e.Type != sessions.Samples {
				want = append(want, e)
			}
		}
		slices.SortStableFunc(want, byStart)
		got := threads[i].Markers
		if len(got) != len(want) {
			t.Errorf("thread %q shows %d markers, want %d", threads[i].Name, len(got), len(want))
			continue
		}
		for k, e := range want {
			if d := got[k]; d.Name != e.Name || off(d.Start, e.Interval.Start) || off(d.Duration, e.Interval.End-e.Interval.Start) {
				t.Errorf("thread %q shows %v, want %+v", threads[i].Name, d, e)
			}
			for _, a := range e.Detail {
				if a.Key == "text" && !strings.Contains(got[k].String(), " text="+a.Value.String()) {
					t.Errorf("thread %q shows %v, want %v in it", threads[i].Name, got[k], a)
				}
			}
		}
		sameFunctions(t, threads[i], spent(s, s.Samples(tl.ID)))
	}
}

// spent returns the milliseconds in each innermost function of samples. Which functions these are is chance.
func spent(s *sessions.Session, samples iter.Seq[profile.Sample]) map[string]float64 {
	functions, tr := map[string]float64{}, s.Trace()
	for sample := range samples {
		name := profile.NoStack
		if sample.StackID != profile.None {
			name = tr.Frames[tr.Stacks[sample.StackID].FrameID].Name
		}
		functions[name] += float64(sample.Weight) / 1e6
	}
	return functions
}

// sameFunctions checks that a thread shows the functions with their times. It shows at most 50.
func sameFunctions(t *testing.T, th shownThread, want map[string]float64) {
	t.Helper()
	got := map[string]float64{}
	for _, f := range th.Functions {
		at := strings.LastIndexByte(f, ' ')
		ms, err := strconv.ParseFloat(f[at+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		got[f[:at]] += ms
	}
	for name, ms := range got {
		if math.Abs(ms-want[name]) > 1e-3 {
			t.Errorf("thread %q shows %g ms in %s, want %g", th.Name, ms, name, want[name])
		}
	}
	if len(got) != min(50, len(want)) {
		t.Errorf("thread %q shows the functions %v, want %v", th.Name, got, want)
	}
}

func byStart(a, b sessions.Event) int { return int(a.Interval.Start - b.Interval.Start) }

// off says that a time in milliseconds is another, by more than what rounding makes.
func off(shown float64, want time.Duration) bool {
	return math.Abs(shown-float64(want)/1e6) > 1e-5
}

func sessionInSpeedscope(ctx context.Context, t *testing.T, s *sessions.Session) {
	t.Helper()
	var file bytes.Buffer
	if err := viewers.WriteSpeedscope(&file, s); err != nil {
		t.Fatal(err)
	}
	checkSchema(ctx, t, file.Bytes())
	text, err := speedscope(ctx, t, file.Bytes())
	if want := fmt.Sprintf("samples of CPU time (1/%d)", 1+len(s.Timelines())); err != nil || !strings.Contains(text, want) {
		t.Errorf("speedscope shows\n%s%v\nwant %q", text, err, want)
	}
}

package viewers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

// aTrace is 30 ms in two functions.
func aTrace() *profile.Trace {
	const ms = time.Millisecond
	return &profile.Trace{
		Resources: []string{"/src/shop/main.go"},
		Frames:    []profile.Frame{{Name: "main.main", ResourceID: 0, Line: 7}, {Name: "main.render", ResourceID: 0, Line: 70}},
		Stacks:    []profile.Stack{{FrameID: 0, ParentID: profile.None}, {FrameID: 1, ParentID: 0}},
		Samples: []profile.Sample{
			{Timestamp: 10 * ms, StackID: 0, ContextID: profile.None, Count: 1, Weight: 10 * ms},
			{Timestamp: 20 * ms, StackID: 1, ContextID: 0, Count: 1, Weight: 20 * ms},
		},
		Contexts: []profile.SampleContext{{Labels: []profile.Label{{Key: "tenant", Value: "a"}}}},
		Interval: 10 * ms, Engine: "cpu", Stopped: 30 * ms,
	}
}

// All views of go tool pprof that need no other program show the trace, also with the binary of the program beside
// it. A trace has no addresses, so that there are no instructions to show.
func TestPprof(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var file bytes.Buffer
	if err := aTrace().WritePprof(&file); err != nil {
		t.Fatal(err)
	}
	name := save(t, "profile.pb.gz", file.Bytes())
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path, err := output(exec.CommandContext(ctx, "go", "tool", "-n", "pprof"))
	if err != nil {
		t.Fatal(err)
	}
	pprof := strings.TrimSpace(string(path))
	for view, want := range map[string][]string{
		"-top":            {"Type: cpu", "Total samples = 30ms", "20ms 66.67% 66.67%       20ms 66.67%  main.render", "10ms 33.33%   100%       30ms   100%  main.main"},
		"-tree":           {"20ms   100% |   main.main"},
		"-peek=render":    {"20ms   100% |   main.main"},
		"-traces":         {"tenant:  a", "20ms   main.render", "             main.main"},
		"-tags":           {"tenant: Total", "a"},
		"-list=render":    {"20ms       20ms (flat, cum) 66.67% of Total", "ROUTINE ======================== main.render in /src/shop/main.go"},
		"-weblist=render": {"main.render", "66.67%"},
		"-raw":            {"samples/count cpu/nanoseconds", "1   20000000: 2 1", "tenant:[a]", "main.render /src/shop/main.go:0:0 s=70"},
		"-dot":            {"main.render", "20ms"},
		"-callgrind":      {"main.render", "calls="},
		"-comments":       {},
		"-proto":          {},
		"-topproto":       {},
	} {
		for what, from := range map[string][]string{"alone": {name}, "with the binary": {binary, name}} {
			t.Run(view+" "+what, func(t *testing.T) {
				report := filepath.Join(t.TempDir(), "report")
				args := append([]string{"-output=" + report, "-nodefraction=0", view}, from...)
				if _, err := output(exec.CommandContext(ctx, pprof, args...)); err != nil {
					t.Fatal(err)
				}
				out, err := os.ReadFile(report)
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range want {
					if !bytes.Contains(out, []byte(line)) {
						t.Errorf("it shows\n%s\nwant a line with %q", out, line)
					}
				}
			})
		}
	}
	t.Run("web", func(t *testing.T) {
		cmd := exec.CommandContext(ctx, pprof, "-http=127.0.0.1:", "-no_browser", binary, name)
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
		lines, address, ok := bufio.NewScanner(stderr), "", false
		for !ok && lines.Scan() {
			_, address, ok = strings.Cut(lines.Text(), "Serving web UI on ")
		}
		for _, page := range []string{"/top", "/flamegraph", "/peek?f=render", "/source?f=render"} {
			text, err := get(ctx, address+page)
			for errors.Is(err, syscall.ECONNREFUSED) && ctx.Err() == nil { // the tool tells the address before it listens
				time.Sleep(10 * time.Millisecond)
				text, err = get(ctx, address+page)
			}
			if err != nil || !strings.Contains(text, "main.render") {
				t.Errorf("%s has no main.render: %v, %d bytes", page, err, len(text))
			}
		}
	})
}

// get returns a page.
func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// The trace's JSON has the members of the specification's dictionaries, and no others.
func TestTraceJSON(t *testing.T) {
	var file bytes.Buffer
	if err := aTrace().WriteJSON(&file); err != nil {
		t.Fatal(err)
	}
	var trace struct { // JS Self-Profiling, ProfilerTrace
		Resources []string
		Frames    []struct {
			Name                     *string
			ResourceID, Line, Column *uint64
		}
		Stacks []struct {
			ParentID *uint64
			FrameID  *uint64
		}
		Samples []struct {
			Timestamp *float64
			StackID   *uint64
		}
	}
	d := json.NewDecoder(&file)
	d.DisallowUnknownFields()
	if err := d.Decode(&trace); err != nil {
		t.Fatal(err)
	}
	if len(trace.Samples) != 2 || *trace.Samples[1].Timestamp != 20 || *trace.Samples[1].StackID != 1 || *trace.Stacks[1].ParentID != 0 || *trace.Frames[1].Name != "main.render" {
		t.Errorf("the trace is %+v", trace)
	}
}

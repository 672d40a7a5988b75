package viewers

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
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

func TestPprof(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var file bytes.Buffer
	if err := aTrace().WritePprof(&file); err != nil {
		t.Fatal(err)
	}
	name := save(t, "profile.pb.gz", file.Bytes())
	for view, want := range map[string][]string{
		"-top": {"Type: cpu", "Total samples = 30ms", "20ms 66.67% 66.67%       20ms 66.67%  main.render", "10ms 33.33%   100%       30ms   100%  main.main"},
		"-raw": {"samples/count cpu/nanoseconds", "1   20000000: 2 1", "tenant:[a]", "main.render /src/shop/main.go:0:0 s=70"},
	} {
		out, err := output(exec.CommandContext(ctx, "go", "tool", "pprof", view, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if !strings.Contains(string(out), line) {
				t.Errorf("pprof %s shows\n%s\nwant a line with %q", view, out, line)
			}
		}
	}
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

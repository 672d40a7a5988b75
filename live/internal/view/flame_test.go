package view

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/profile"
)

// traceOf makes a trace of stacks, "outer;inner", with the time of each.
func traceOf(stacks map[string]time.Duration) *profile.Trace {
	t := &profile.Trace{Engine: "cpu", Interval: 10 * time.Millisecond}
	var names []string
	for stack := range stacks {
		names = append(names, stack)
	}
	slices.Sort(names)
	ids := map[string]int{}
	for _, stack := range names {
		id := profile.None
		for i := range strings.SplitSeq(stack, ";") {
			if i == "" {
				continue
			}
			key := fmt.Sprint(id, i)
			if _, known := ids[key]; !known {
				t.Frames = append(t.Frames, profile.Frame{Name: i, ResourceID: profile.None})
				t.Stacks = append(t.Stacks, profile.Stack{FrameID: len(t.Frames) - 1, ParentID: id})
				ids[key] = len(t.Stacks) - 1
			}
			id = ids[key]
		}
		t.Samples = append(t.Samples, profile.Sample{StackID: id, ContextID: profile.None, Count: 1, Weight: stacks[stack]})
	}
	return t
}

func lines(g FlameGraph) (out []string) {
	for _, n := range g.Nodes {
		out = append(out, fmt.Sprintf("%d %s %v %v", n.Parent, g.Functions[n.Function].Name, n.Total, n.Self))
	}
	return out
}

const msec = time.Millisecond

func TestFlameGraph(t *testing.T) {
	tr := traceOf(map[string]time.Duration{"main;a": 10 * msec, "main;b;c": 30 * msec, "main;b": 5 * msec, "": 1 * msec})
	g := NewFlameGraph(OfLastMinute(tr))
	want := []string{"-1 all 46 0", "0 main 45 0", "1 b 35 5", "2 c 30 30", "1 a 10 10", "0 [no stack] 1 1"}
	if got := lines(g); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if g.Samples != 4 || g.Cut != 0 || g.Total != 46 || g.NoStack != 1 {
		t.Errorf("%d samples of %v ms, %v without a stack, %d cut", g.Samples, g.Total, g.NoStack, g.Cut)
	}
}

func TestFlameGraphOfWhatWaits(t *testing.T) {
	tr := traceOf(map[string]time.Duration{"main;a": 10 * msec})
	tr.Samples[0].Marker = profile.Idle
	p := OfLastMinute(tr)
	if got, want := lines(NewFlameGraph(p)), "2 [waits] 10 10"; got[len(got)-1] != want {
		t.Errorf("got %q, want %q last", got, want)
	}
	p.RemoveWaits()
	if g := NewFlameGraph(p); g.Samples != 0 || len(g.Nodes) != 1 {
		t.Errorf("without it there are %+v", g)
	}
}

// However much there is, an answer has a bounded number of functions, each with its callers,
// and says what it left out.
func TestFlameGraphIsCut(t *testing.T) {
	stacks := map[string]time.Duration{}
	for i := range 1500 {
		stacks[fmt.Sprintf("main;f%04d;g;h;i", i)] = time.Duration(10_000+i) * time.Microsecond
	}
	stacks["main;small"] = 1 // less than a pixel
	stacks[strings.Repeat("deep;", 300)+"end"] = time.Second
	tr := traceOf(stacks)
	g := NewFlameGraph(OfLastMinute(tr))
	if len(g.Nodes) > maxFlameNodes || len(g.Nodes) < maxFlameNodes/2 {
		t.Errorf("%d nodes", len(g.Nodes))
	}
	if g.Cut < 6000-maxFlameNodes || g.CutTime <= 0 {
		t.Errorf("%d functions of %v ms are cut", g.Cut, g.CutTime)
	}
	depth := make([]int, len(g.Nodes))
	for i, n := range g.Nodes {
		if i > 0 {
			if n.Parent >= i || n.Total > g.Nodes[n.Parent].Total {
				t.Fatalf("node %d is %+v", i, n)
			}
			depth[i] = depth[n.Parent] + 1
		}
	}
	if most := slices.Max(depth); most != maxFlameDepth {
		t.Errorf("%d deep, want %d", most, maxFlameDepth)
	}
}

func TestKind(t *testing.T) {
	for name, want := range map[string]string{
		"main.(*handler).search":                            "own",
		"github.com/perfline/perfline/exporter.NewDelivery": "own",
		"runtime.mallocgc":                                  "runtime",
		"internal/poll.(*FD).Read":                          "runtime",
		"net/http.(*conn).serve":                            "std",
		"slices.SortFunc[...]":                              "std",
		"example.com/a/b.(*C).D":                            "dep",
		"gopkg.in/yaml.v3.Marshal":                          "dep",
		"[no stack]":                                        "",
		"all":                                               "",
	} {
		if got := kind(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// The making of a profile ends when its client has gone.
func TestProfileEndsWithItsContext(t *testing.T) {
	tr := traceOf(map[string]time.Duration{"main;a": 10 * msec})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := 0
	tr.Samples = slices.Repeat(tr.Samples, 3*checkEvery)
	p := OfLastMinute(tr)
	p.Until(ctx)
	for range p.samples {
		if seen++; seen == checkEvery/2 {
			cancel()
		}
	}
	if seen != checkEvery {
		t.Errorf("%d samples were read, want %d", seen, checkEvery)
	}
}

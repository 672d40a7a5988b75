package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perfline/perfline/internal/runtimestats"
)

// runtimeArguments are the arguments of get_runtime.
type runtimeArguments struct {
	Samples int `json:"samples,omitempty" jsonschema:"how many of the last samples, from 1 to 60; 12 without it, which is a minute"`
}

const usualSamples = 12

func (s *server) getRuntime(_ context.Context, _ *mcp.CallToolRequest,
	in runtimeArguments) (*answer, error) {
	if in.Samples < 0 || in.Samples > runtimestats.MaxSamples {
		return nil, refuse("samples %d: must be from 1 to %d", in.Samples, runtimestats.MaxSamples)
	}
	most := cmp.Or(in.Samples, usualSamples)
	a := new(answer)
	all := (*runtimestats.History)(s.source.Runtime()).Samples()
	if len(all) > 0 && all[0].Interval == 0 {
		all = all[1:] // the first sample has no rates
	}
	if len(all) == 0 {
		a.line("No figures yet: the first call begins them, and the first sample comes after %d s.",
			int(runtimestats.Every.Seconds()))
		a.suggest(toolRuntime, struct{}{}, "in some seconds")
		return a, nil
	}
	last := all[len(all)-1]
	a.line("figures of the last %d samples of %d, one every %d s, or a minute while the program sleeps; - is unknown; processors: %s", min(most, len(all)), len(all), int(runtimestats.Every.Seconds()), figure(last.Processors, 1, 0))
	a.line("time, CPU of the process in cores, CPU of the garbage collector in cores, heap MiB, goal of the heap MiB, memory MiB, allocations MiB a second, " +
		"goroutines, garbage collections, longest pause ms, wait for a processor p99 ms, entries lost")
	for _, v := range all[max(0, len(all)-most):] {
		if !a.row(quotef("%s %s %s %s %s %s %s %s %s %s %s %d",
			word(v.At.UTC().Format("15:04:05Z")), figure(v.CPU.Process, 1, 2),
			figure(v.CPU.GC, 1, 2), figure(v.Heap, 1<<20, 1), figure(v.HeapGoal, 1<<20, 1),
			figure(v.Memory, 1<<20, 1), figure(v.Allocated, 1<<20, 1), figure(v.Goroutines, 1, 0),
			figure(v.GCCycles, 1, 0), ms(v.GCPauses.Max), ms(v.Latencies.P99), v.Lost)) {
			break
		}
	}
	a.suggest(toolCounts, struct{}{}, "what perfline recorded and lost")
	a.suggest(toolListRoutes, struct{}{}, "routes and how long their requests take")
	return a, nil
}

// figure returns a figure in a unit with some decimal places, or - if the figure is unknown.
func figure(v, unit float64, digits int) word {
	if math.IsNaN(v) {
		return "-"
	}
	return word(fmt.Sprintf("%.*f", digits, v/unit))
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// sampling has the profilers of the shop's load. cpu samples running code every 10 ms of
// CPU time. wall samples all goroutines, running or waiting, as often as 3 % of a core
// allows.
type sampling struct{ cpu, wall *profiling.Profiler }

func startSampling(ctx context.Context) (s sampling, err error) {
	s.cpu, err = profiling.Start(ctx,
		profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 100_000})
	if err != nil {
		return s, err
	}
	s.wall, err = profiling.Start(ctx,
		profiling.Options{SampleInterval: time.Millisecond, MaxBufferSize: 2_000_000, Wall: true,
			WallBudget: 0.03})
	return s, err
}

func (s sampling) stop() (cpu, wall *profile.Trace, err error) {
	cpu, err = s.cpu.Stop()
	wall, wallErr := s.wall.Stop()
	return cpu, wall, errors.Join(err, wallErr)
}

// reportHottest tells which functions ran most in requests: under a span.
func reportHottest(w io.Writer, t *profile.Trace) {
	t = t.Select(func(s profile.Sample) bool {
		return s.ContextID != profile.None && t.Contexts[s.ContextID].SpanID.IsValid()
	})
	var total time.Duration
	for _, s := range t.Samples {
		total += s.Weight
	}
	fmt.Fprintf(w, "\nWhat ran in requests: %v of CPU in all, sampled every %v, the hottest functions first:\n", total.Round(time.Millisecond), t.Interval)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	share := func(d time.Duration) string {
		return fmt.Sprintf("%.1f %%",
			float64(d)/float64(total)*100)
	}
	fmt.Fprintln(tw, "self\ttotal\t function")
	functions := hottest(t)
	for _, f := range functions[:min(5, len(functions))] {
		fmt.Fprintf(tw, "%s\t%s\t %s\n", share(f.self), share(f.total), f.name)
	}
	_ = tw.Flush() // a terminal does not fail
}

// A functionTime is how long a function ran: in itself, and with the functions that it called.
type functionTime struct {
	name        string
	self, total time.Duration
}

// hottest adds up the samples of each function. The function with the most time in itself is first.
func hottest(t *profile.Trace) []*functionTime {
	functions := map[string]*functionTime{}
	for _, s := range t.Samples {
		counted := map[*functionTime]bool{} // a function that calls itself counts once
		for c := range t.Calls(s) {         // the innermost function first
			f := functions[c.Name]
			if f == nil {
				f = &functionTime{name: c.Name}
				functions[c.Name] = f
			}
			if len(counted) == 0 {
				f.self += s.Weight
			}
			if !counted[f] {
				counted[f] = true
				f.total += s.Weight
			}
		}
	}
	return slices.SortedFunc(maps.Values(functions), func(a, b *functionTime) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total),
			cmp.Compare(a.name, b.name))
	})
}

// writeProfile writes a trace for go tool pprof, if a file is named.
func writeProfile(file string, t *profile.Trace) error {
	if file == "" {
		return nil
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(t.WritePprof(f), f.Close())
}

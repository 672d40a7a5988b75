package profiling_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	pprofpb "github.com/google/pprof/profile"

	"github.com/perfline/perfline/profiling"
)

// A test in a synctest bubble may meet profilers from outside of the bubble.
func TestProfilersAndBubbles(t *testing.T) {
	p := start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	synctest.Test(t, func(t *testing.T) {
		profiling.ForceSample()
		other, err := profiling.Start(t.Context(), profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 10})
		if err != nil {
			t.Fatal(err)
		}
		stop(t, other)
		stop(t, p)
	})
	if n := p.Stats().Samples; n != 1 {
		t.Errorf("%d samples were taken in the bubble, want the one that was forced", n)
	}
}

// The profiler's own goroutine has no labels of the goroutine that started it.
func TestProfilerHasNoLabels(t *testing.T) {
	profiling.FakeEngines(t) // so that the goroutine starts now
	pprof.Do(t.Context(), pprof.Labels("customer", "secret"), func(context.Context) {
		start(t, profiling.Options{SampleInterval: 10 * time.Millisecond})
	})
	profiling.ForceSample() // the goroutine has come to its work
	found := hubLabels(t)
	for end := time.Now().Add(time.Minute); len(found) > 1 && time.Now().Before(end); { // the goroutine of an earlier test may be about to end
		found = hubLabels(t)
	}
	if len(found) != 1 || len(found[0]) > 0 {
		t.Errorf("the goroutines of profilers have the labels %v, want one goroutine without labels", found)
	}
}

// hubLabels returns the labels of each goroutine of profilers.
func hubLabels(t *testing.T) (found []map[string][]string) {
	t.Helper()
	var data bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&data, 0); err != nil {
		t.Fatal(err)
	}
	all, err := pprofpb.ParseData(data.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.Sample {
		if slices.ContainsFunc(s.Location, func(l *pprofpb.Location) bool {
			return slices.ContainsFunc(l.Line, func(l pprofpb.Line) bool { return strings.HasSuffix(l.Function.Name, "profiling.(*hub).run") })
		}) {
			for range s.Value[0] { // goroutines with equal stacks and labels are one sample
				found = append(found, s.Label)
			}
		}
	}
	return found
}

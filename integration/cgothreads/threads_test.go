package cgothreads

import (
	"strings"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling"
	"github.com/perfline/perfline/profiling/profile"
)

// Threads that Go did not make, and C called from Go, are sampled like anything
// else: what is known of their stacks is told, in the order of time.
func TestSampleForeignThreads(t *testing.T) {
	for called, outside := 0, 0; called == 0 || outside == 0; { // a busy machine may run only one of the two for long
		called, outside = sampleForeignThreads(t)
	}
}

// sampleForeignThreads returns how many samples are of C that Go called, and of a thread that Go did not make.
func sampleForeignThreads(t *testing.T) (called, outside int) {
	t.Helper()
	p, err := profiling.Start(t.Context(), profiling.Options{SampleInterval: 10 * time.Millisecond, MaxBufferSize: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	stop, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	// Until there are enough samples of both, by CPU time and not by the clock.
	for p.Stats().Samples < 30 {
		SpinHere(10_000_000)
	}
	stop()
	tr, err := p.Stop()
	if err != nil {
		t.Fatal(err)
	}
	others := 0
	for i, s := range tr.Samples {
		if i > 0 && s.Timestamp < tr.Samples[i-1].Timestamp {
			t.Errorf("sample %d at %v comes after one at %v", i, s.Timestamp, tr.Samples[i-1].Timestamp)
		}
		if s.Timestamp < tr.Started || s.Timestamp > tr.Stopped {
			t.Errorf("sample %d at %v is outside of %v to %v", i, s.Timestamp, tr.Started, tr.Stopped)
		}
		var stack []string
		for c := range tr.Calls(s) {
			stack = append(stack, c.Name)
		}
		switch all := strings.Join(stack, " "); {
		case strings.Contains(all, "cgothreads.SpinHere"):
			called++
		case strings.Contains(all, "runtime._ExternalCode") || strings.Contains(all, "runtime._System"):
			outside++
			if s.Marker != profile.Other {
				t.Errorf("a thread outside Go has the marker %q, want other: %v", s.Marker, stack)
			}
		default:
			others++
		}
	}
	t.Logf("%d samples: %d of C that Go called, %d of the other thread, %d of anything else", len(tr.Samples), called, outside, others)
	return called, outside
}

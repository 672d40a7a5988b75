package runtimestats_test

import (
	"fmt"
	"math"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/runtimestats"
)

// second returns the second sample of a history. Function between runs after the first.
func second(t *testing.T, c runtimestats.Config, between func()) runtimestats.Sample {
	t.Helper()
	var s runtimestats.Sample
	var mu sync.Mutex // guards the variables of c's functions
	if read := c.Read; read != nil {
		c.Read = func(all []metrics.Sample) {
			mu.Lock()
			defer mu.Unlock()
			read(all)
		}
	}
	if cpuTime := c.CPUTime; cpuTime != nil {
		c.CPUTime = func() time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return cpuTime()
		}
	}
	if counts := c.Counts; counts != nil {
		c.Counts = func() []exporter.Count {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(counts())
		}
	}
	synctest.Test(t, func(t *testing.T) {
		h := runtimestats.Start(c)
		defer h.Stop()
		synctest.Wait()
		mu.Lock()
		between()
		mu.Unlock()
		time.Sleep(runtimestats.Every)
		synctest.Wait()
		all := h.Samples()
		if len(all) != 2 {
			t.Fatalf("there are %d samples, want 2", len(all))
		}
		if !math.IsNaN(all[0].Allocated) || all[0].GCPauses.Count > 0 || all[0].Lost > 0 {
			t.Errorf("the first sample has differences: %+v", all[0])
		}
		s = all[1]
	})
	return s
}

// A metric that the release of Go lacks is a figure that is not known.
func TestMissingMetrics(t *testing.T) {
	s := second(t, runtimestats.Config{
		Read: func(all []metrics.Sample) {
			for i := range all {
				all[i].Name = "/no/such:metric"
			}
			metrics.Read(all)
		},
		CPUTime: func() time.Duration { return 0 },
	}, func() {})
	for name, v := range map[string]float64{
		"Heap": s.Heap, "Memory": s.Memory, "Allocated": s.Allocated, "Goroutines": s.Goroutines, "GCCycles": s.GCCycles,
		"CPU.Process": s.CPU.Process, "CPU.User": s.CPU.User, "Recorded": s.Recorded, "Pending": s.Pending,
	} {
		if !math.IsNaN(v) {
			t.Errorf("%s is %v, want NaN", name, v)
		}
	}
	if s.GCPauses != (runtimestats.Distribution{}) || s.Latencies != (runtimestats.Distribution{}) {
		t.Errorf("distributions are %+v and %+v, want none", s.GCPauses, s.Latencies)
	}
	if s.Interval != runtimestats.Every {
		t.Errorf("the interval is %v, want 5 s", s.Interval)
	}
}

// The distribution of an interval has no durations from before it, and gives the upper bounds of buckets.
func TestDistribution(t *testing.T) {
	histogram := metrics.Float64Histogram{
		Counts:  []uint64{7, 1000, 0, 5, 3},
		Buckets: []float64{math.Inf(-1), 0, 0.001, 0.002, 0.004, math.Inf(1)},
	}
	for _, c := range []struct {
		name string
		more []uint64
		want runtimestats.Distribution
	}{
		{"nothing", []uint64{0, 0, 0, 0, 0}, runtimestats.Distribution{}},
		{"one", []uint64{0, 0, 1, 0, 0}, runtimestats.Distribution{Count: 1, P50: 2 * time.Millisecond, P99: 2 * time.Millisecond, Max: 2 * time.Millisecond}},
		{"a hundred", []uint64{0, 98, 1, 1, 0}, runtimestats.Distribution{Count: 100, P50: time.Millisecond, P99: 2 * time.Millisecond, Max: 4 * time.Millisecond}},
		{"without bounds", []uint64{1, 0, 0, 0, 1}, runtimestats.Distribution{Count: 2, P50: 0, P99: 4 * time.Millisecond, Max: 4 * time.Millisecond}},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := func(all []metrics.Sample) {
				metrics.Read(all)
				for i, s := range all {
					if s.Name == "/sched/latencies:seconds" {
						h := s.Value.Float64Histogram()
						h.Counts, h.Buckets = slices.Clone(histogram.Counts), histogram.Buckets
						all[i] = s
					}
				}
			}
			s := second(t, runtimestats.Config{Read: read}, func() {
				for i, n := range c.more {
					histogram.Counts[i] += n
				}
			})
			if s.Latencies != c.want {
				t.Errorf("got %+v, want %+v", s.Latencies, c.want)
			}
		})
	}
}

// The CPU time of the process is a rate. It is unknown where the system's clock is.
func TestProcessCPU(t *testing.T) {
	cpu := 10 * time.Second
	s := second(t, runtimestats.Config{CPUTime: func() time.Duration { return cpu }}, func() { cpu += 7500 * time.Millisecond })
	if s.CPU.Process != 1.5 {
		t.Errorf("7.5 s of CPU time in 5 s are %v cores, want 1.5", s.CPU.Process)
	}
}

func delivery(name string, n uint64) exporter.Count {
	return exporter.Count{Group: "perfline.delivery.spans", Name: name, N: n, Lost: name == "failed" || name == "dropped", Now: name == "pending"}
}

// A sample has rates of perfline's counts, and losses of its interval by cause.
func TestCounts(t *testing.T) {
	counts := []exporter.Count{
		{Group: "perfline.entries", Kind: "mark", Name: "recorded", N: 100},
		{Group: "perfline.entries", Kind: "measure", Name: "recorded", N: 50},
		delivery("accepted", 70), delivery("delivered", 60), delivery("pending", 9), delivery("failed", 4), delivery("dropped", 3),
	}
	s := second(t, runtimestats.Config{Counts: func() []exporter.Count { return counts }}, func() {
		counts = append([]exporter.Count{
			{Group: "perfline.entries", Kind: "job", Name: "recorded", N: 5},
			{Group: "perfline.marks", Name: "after_span_end", What: "late", N: 2, Lost: true},
			{Group: "perfline.entries", Kind: "mark", Name: "recorded", N: 110},
			{Group: "perfline.entries", Kind: "measure", Name: "recorded", N: 60},
		}, delivery("accepted", 75), delivery("delivered", 61), delivery("pending", 2), delivery("failed", 14), delivery("dropped", 3))
	})
	if s.Recorded != 5 || s.Accepted != 1 || s.Delivered != 0.2 || s.Pending != 2 {
		t.Errorf("recorded %v, accepted %v, delivered %v a second, %v pending: want 5, 1, 0.2, 2", s.Recorded, s.Accepted, s.Delivered, s.Pending)
	}
	want := []runtimestats.Loss{
		{Group: "perfline.delivery.spans", Name: "failed", N: 10},
		{Group: "perfline.marks", Name: "after_span_end", What: "late", N: 2},
	}
	if s.Lost != 12 || s.LostInAll != 19 || !slices.Equal(s.Losses, want) {
		t.Errorf("lost %d of %d, by cause %+v, want 12 of 19 and %+v", s.Lost, s.LostInAll, s.Losses, want)
	}
}

// A sample lists eight causes, and counts the losses of all, however many there are.
func TestLossesAreBounded(t *testing.T) {
	n := uint64(0)
	s := second(t, runtimestats.Config{Counts: func() (all []exporter.Count) {
		for i := range 1000 {
			all = append(all, exporter.Count{Group: "g", Name: fmt.Sprint(i), N: n * uint64(1000-i), Lost: true})
		}
		return all
	}}, func() { n = 1 })
	if s.Lost != 500_500 {
		t.Errorf("lost %d, want 500500: causes without a place must count, too", s.Lost)
	}
	if len(s.Losses) != 8 || s.Losses[0].N != 1000 || s.Losses[7].N != 993 {
		t.Errorf("causes are %+v, want the eight largest", s.Losses)
	}
}

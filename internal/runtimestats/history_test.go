package runtimestats_test

import (
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/perfline/perfline/exporter"
	"github.com/perfline/perfline/internal/leaktest"
	"github.com/perfline/perfline/internal/runtimestats"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// busy is a configuration for a program that always works.
func busy() runtimestats.Config {
	started := time.Now()
	return runtimestats.Config{CPUTime: func() time.Duration { return time.Second + time.Since(started)/2 }}
}

// A history has a sample of its start and one every 5 s, and keeps 60 of them. After Stop it gets no more.
func TestHistoryKeepsFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		h := runtimestats.Start(busy())
		for _, c := range []struct {
			after time.Duration
			want  int
			first time.Duration
		}{
			{0, 1, 0},
			{4999 * time.Millisecond, 1, 0},
			{5 * time.Second, 2, 0},
			{295 * time.Second, 60, 0},
			{300 * time.Second, 60, 5 * time.Second},
			{time.Hour, 60, time.Hour - 295*time.Second},
		} {
			time.Sleep(time.Until(started.Add(c.after)))
			synctest.Wait()
			all := h.Samples()
			if len(all) != c.want {
				t.Fatalf("after %v there are %d samples, want %d", c.after, len(all), c.want)
			}
			for i, s := range all {
				if got, want := s.At.Sub(started), c.first+time.Duration(i)*5*time.Second; got != want {
					t.Fatalf("after %v, sample %d is at %v, want %v", c.after, i, got, want)
				}
				if s.Interval != 5*time.Second && !s.At.Equal(started) {
					t.Errorf("the interval of sample %d is %v, want 5 s", i, s.Interval)
				}
			}
		}
		h.Stop()
		h.Stop() // again does nothing
		last := h.Samples()
		time.Sleep(time.Minute)
		if now := h.Samples(); len(now) != 60 || !now[59].At.Equal(last[59].At) {
			t.Errorf("a stopped history went on until %v", now[59].At)
		}
	})
}

// A program that sleeps is woken up for a sample once a minute. It gets all samples again when it works, and when somebody reads.
func TestHistoryOfAProgramThatSleeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cpu, taken atomic.Int64
		started := time.Now()
		h := runtimestats.Start(runtimestats.Config{CPUTime: func() time.Duration {
			taken.Add(1)
			return time.Second + time.Duration(cpu.Load())
		}})
		defer h.Stop()
		seen := int64(0)
		// until returns how many samples were taken since the last call, or the start, to an instant after the start.
		until := func(at time.Duration) int64 {
			time.Sleep(time.Until(started.Add(at)))
			synctest.Wait()
			before := seen
			seen = taken.Load()
			return seen - before
		}
		expect := func(what string, got, want int64) {
			t.Helper()
			if got != want {
				t.Errorf("%s: %d samples, want %d", what, got, want)
			}
		}
		expect("the first minute", until(time.Minute), 8)
		expect("half an hour of sleep", until(31*time.Minute), 30)
		expect("half a minute", until(31*time.Minute+30*time.Second), 0)
		if all := h.Samples(); all[len(all)-1].Interval != time.Minute {
			t.Errorf("the last sample has an interval of %v", all[len(all)-1].Interval)
		}
		expect("a minute after a reader", until(32*time.Minute+30*time.Second), 6)
		expect("asleep again", until(35*time.Minute), 3)
		cpu.Add(int64(10 * time.Second)) // work in the middle of a minute
		expect("the next minute", until(36*time.Minute), 1)
		expect("and then", until(36*time.Minute+20*time.Second), 4)
	})
}

// After returns only newer samples, also when the ring has begun anew.
func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := runtimestats.Start(busy())
		defer h.Stop()
		time.Sleep(6 * time.Minute)
		synctest.Wait() // for the sample of this moment
		all := h.Samples()
		for _, n := range []int{0, 1, 30, 59} {
			if got := h.After(all[n].At); len(got) != 59-n || n < 59 && !got[0].At.Equal(all[n+1].At) {
				t.Errorf("after sample %d there are %d, want %d", n, len(got), 59-n)
			}
		}
	})
}

// Stop waits for a sample that is being taken, which still counts.
func TestStopWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan struct{})
		h := runtimestats.Start(runtimestats.Config{Counts: func() []exporter.Count {
			<-goOn
			return nil
		}})
		synctest.Wait()
		stopped := false
		go func() {
			h.Stop()
			stopped = true
		}()
		synctest.Wait()
		if stopped {
			t.Error("Stop returned while a sample was being taken")
		}
		close(goOn)
		synctest.Wait()
		if n := len(h.Samples()); !stopped || n != 1 {
			t.Errorf("Stop returned: %t, with %d samples, want the one", stopped, n)
		}
	})
}

// This release of Go has all figures. A garbage collection gives the CPU time by class.
func TestFiguresOfThisRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := runtimestats.Start(runtimestats.Config{})
		defer h.Stop()
		synctest.Wait()
		runtime.GC()
		runtime.GC()   // the first one may have begun before
		for range 16 { // the runtime measures every eighth wait of a goroutine
			runtime.Gosched()
		}
		time.Sleep(runtimestats.Every)
		synctest.Wait()
		s := h.Samples()[1]
		for name, v := range map[string]float64{
			"Heap": s.Heap, "HeapGoal": s.HeapGoal, "Memory": s.Memory, "Allocated": s.Allocated, "Goroutines": s.Goroutines, "GCCycles": s.GCCycles,
			"MutexWait": s.MutexWait, "Processors": s.Processors, "CPU.User": s.CPU.User, "CPU.GC": s.CPU.GC, "CPU.Scavenge": s.CPU.Scavenge, "CPU.Idle": s.CPU.Idle,
		} {
			if math.IsNaN(v) || v < 0 {
				t.Errorf("%s is %v", name, v)
			}
		}
		if s.Goroutines < 2 || s.Heap < 1<<16 || s.Memory < s.Heap || s.GCCycles < 2 || s.Processors != float64(runtime.GOMAXPROCS(0)) {
			t.Errorf("not the figures of a program that collected garbage twice: %+v", s)
		}
		if p := s.GCPauses; p.Count < 2 || p.P50 <= 0 || p.Max < p.P99 || p.P99 < p.P50 {
			t.Errorf("pauses of two garbage collections are %+v", p)
		}
		if s.Latencies.Count == 0 {
			t.Error("no goroutine waited for a processor")
		}
		if runtime.GOOS == "linux" && math.IsNaN(s.CPU.Process) {
			t.Error("the CPU time of the process is not known")
		}
	})
}

// A sample allocates nothing by itself, with losses that are known and without.
func TestSampleAllocatesNothing(t *testing.T) {
	counts := []exporter.Count{{Group: "perfline.entries", Kind: "mark", Name: "overflow", N: 1, Lost: true}}
	synctest.Test(t, func(t *testing.T) {
		c := busy()
		c.Counts = func() []exporter.Count {
			counts[0].N++
			return counts
		}
		h := runtimestats.Start(c)
		defer h.Stop()
		time.Sleep(10 * time.Minute) // all slots have their memory
		if n := testing.AllocsPerRun(100, func() { time.Sleep(runtimestats.Every) }); n > 0 {
			t.Errorf("a sample makes %v allocations, want none", n)
		}
	})
}

// lossy is a configuration with more causes of losses than a history counts apart.
func lossy() runtimestats.Config {
	counts := make([]exporter.Count, 300)
	for i := range counts {
		counts[i] = exporter.Count{Group: "group", Name: fmt.Sprint(i), Lost: true}
	}
	c := busy()
	c.Counts = func() []exporter.Count {
		for i := range counts {
			counts[i].N++
		}
		return counts
	}
	return c
}

// The samples of a history, with the causes of losses that they have room for, take at most three quarters of the memory
// that the package's comment says. The rest is for the causes in all.
func TestMemoryOfAHistory(t *testing.T) {
	const most = 128 << 10
	synctest.Test(t, func(t *testing.T) {
		h := runtimestats.Start(lossy())
		defer h.Stop()
		time.Sleep(10 * time.Minute)
		size := 0
		for _, s := range h.Samples() {
			if len(s.Losses) != 8 {
				t.Errorf("a sample has %d causes of losses, want 8", len(s.Losses))
			}
			size += int(unsafe.Sizeof(s)) + len(s.Losses)*int(unsafe.Sizeof(s.Losses[0]))
		}
		if size > most*3/4 || size < most/4 {
			t.Errorf("the samples take %d bytes, want at most three quarters of %d, and more than a quarter", size, most)
		}
	})
}

// Functions of the program that panic or end the goroutine cost a sample, and no more.
func TestFunctionsThatFail(t *testing.T) {
	for name, fail := range map[string]func(){"panic": func() { panic("user code") }, "Goexit": runtime.Goexit} {
		for _, what := range []string{"Counts", "Read", "CPUTime"} {
			t.Run(what+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var failing atomic.Bool
					fails := func(function string) {
						if failing.Load() && function == what {
							fail()
						}
					}
					h := runtimestats.Start(runtimestats.Config{
						Counts:  func() []exporter.Count { fails("Counts"); return nil },
						Read:    func(samples []metrics.Sample) { fails("Read"); metrics.Read(samples) },
						CPUTime: func() time.Duration { fails("CPUTime"); return time.Second },
					})
					defer h.Stop()
					time.Sleep(12 * time.Second)
					synctest.Wait()
					before := len(h.Samples())
					failing.Store(true)
					time.Sleep(10 * time.Second)
					synctest.Wait()
					during := len(h.Samples())
					failing.Store(false)
					time.Sleep(10 * time.Second)
					synctest.Wait()
					if after := len(h.Samples()); before != 3 || during != 3 || after != 5 {
						t.Errorf("there are %d samples before, %d while it fails and %d afterwards, want 3, 3 and 5", before, during, after)
					}
				})
			})
		}
	}
}

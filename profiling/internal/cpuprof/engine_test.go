//go:build linux && !perfline_portable

package cpuprof

import (
	"context"
	"errors"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/profiling/internal/sampling"
	"github.com/perfline/perfline/profiling/internal/samplingtest"
	"github.com/perfline/perfline/profiling/profile"
)

const here = "github.com/perfline/perfline/profiling/internal/cpuprof."

func TestInterval(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		name              string
		tick, asked, want time.Duration
	}{
		{"as asked", 4 * ms, 10 * ms, 10 * ms},
		{"the shortest", 4 * ms, 0, 4 * ms},
		{"negative", 4 * ms, -ms, 4 * ms},
		{"shorter than the shortest", 4 * ms, 1, 4 * ms},
		{"just longer than the shortest", 4 * ms, 4*ms + 1, 4 * ms},
		{"no whole fraction", 4 * ms, 6 * ms, time.Second / 167},
		{"the longest", 4 * ms, time.Second, time.Second},
		{"longer than the longest", 4 * ms, time.Hour, time.Second},
		{"endless", 4 * ms, 1<<63 - 1, time.Second},
		{"a tick that is no whole fraction", 3333333, 0, time.Second / 300},
		{"a third", 10 * ms, time.Second / 3, time.Second / 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, _ := faked(t)
			e.shortest = tc.tick
			got := e.Interval(tc.asked)
			if got != tc.want {
				t.Errorf("Interval(%v) with ticks of %v: got %v, want %v", tc.asked, tc.tick, got, tc.want)
			}
			if again := e.Interval(got); again != got {
				t.Errorf("Interval(%v) = %v: it is an interval already", got, again)
			}
		})
	}
	t.Run("of this system", func(t *testing.T) {
		e, _ := faked(t)
		if got := e.Interval(0); got < ms || got > 10*ms {
			t.Errorf("the shortest interval is %v: want 1 to 10 ms", got)
		}
	})
}

// ticked returns copies of the samples of a tick.
func ticked(t *testing.T, e *Engine) (all []sampling.Sample) {
	t.Helper()
	err := e.Tick(func(s *sampling.Sample) {
		c := *s
		c.Stack = slices.Clone(s.Stack)
		all = append(all, c)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// stackHere returns the stack of its caller, as the log has stacks.
//
//go:noinline
func stackHere() []uintptr {
	pcs := make([]uintptr, 2*deepest)
	return pcs[:runtime.Callers(2, pcs)]
}

// stackBelow returns a stack with so many calls of itself.
//
//go:noinline
func stackBelow(depth int) (stack []uintptr) {
	if depth == 0 {
		return stackHere()
	}
	defer func() { sink++ }() // the call below is no tail call
	return below(depth)
}

// below is inlined into stackBelow.
func below(depth int) []uintptr { return stackBelow(depth - 1) }

var sink int

// Samples have the stack, the labels, the time and the count of their records.
func TestSamples(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
		tag := unsafe.Pointer(new(int64))
		stack := stackHere()
		began := sampling.Now()
		p.Add(tag, stack...)
		words := []uint64{uint64(3 + len(stack)), uint64(sampling.Now()), 3}
		for _, pc := range stack {
			words = append(words, uint64(pc))
		}
		p.AddWords(words, nil)
		p.AddWords([]uint64{3, 0, 1}, nil) // of a thread that is not Go's, without a stack
		got := ticked(t, e)
		if len(got) != 3 {
			t.Fatalf("%d samples, want 3", len(got))
		}
		last := began
		for i, want := range []struct {
			count  int
			tag    unsafe.Pointer
			marker profile.Marker
			frames bool
		}{{1, tag, profile.Ordinary, true}, {3, nil, profile.Ordinary, true}, {1, nil, profile.Other, false}} {
			s := got[i]
			if s.At < last || s.At > sampling.Now() {
				t.Errorf("sample %d is of %d, want a time after %d and not after the present", i, s.At, last)
			}
			last = s.At
			if s.Count != want.count || s.Weight != e.Interval(0)*time.Duration(want.count) || s.Tag != want.tag || s.Marker != want.marker || s.Cut {
				t.Errorf("sample %d is %+v, want %+v, not cut, and an interval for each", i, s, want)
			}
			if !want.frames {
				if len(s.Stack) != 0 {
					t.Errorf("sample %d has the stack %v, want none", i, s.Stack)
				}
				continue
			}
			if inner, outer := s.Stack[0].Name, s.Stack[len(s.Stack)-1].Name; !strings.HasPrefix(inner, here+"TestSamples") || outer == "runtime.goexit" {
				t.Errorf("sample %d has a stack from %s to %s, want this function first, and no goexit, as runtime/pprof has it", i, inner, outer)
			}
		}
		if n := e.Lost(); n != 0 {
			t.Errorf("%d samples were lost", n)
		}
	})
}

// The runtime keeps so many frames of a stack, and a frame that was inlined without the one that
// it was inlined into.
func TestDeepStacks(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
		stack := stackBelow(deepest)
		for from := range 2 { // one of these stacks is cut within an inlined frame
			p.Add(nil, stack[from:from+deepest]...)
		}
		inlined := 0
		for _, s := range ticked(t, e) {
			if !s.Cut || len(s.Stack) < deepest {
				t.Errorf("a stack of more than 64 frames: cut=%v, %d frames; want it cut after %d", s.Cut, len(s.Stack), deepest)
			}
			if len(s.Stack) > deepest {
				inlined++
			}
			outermost := s.Stack[len(s.Stack)-1].Name
			if goruntime.CheckLabels() == nil && outermost != here+"stackBelow" { // else the frame is not told
				t.Errorf("the outermost frame is %s, want the one that it was inlined into", outermost)
			}
		}
		if inlined == 0 && goruntime.CheckLabels() == nil {
			t.Error("no stack was cut within an inlined frame")
		}
	})
}

// Samples that found the log full are counted, and the tick sees the signal that was lost, too.
func TestLogThatIsFull(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
		for i := range 2 {
			nudges := 0
			p.Nudged = 0 // the log is full
			p.Add(nil, stackHere()...)
			p.AddWords([]uint64{4, uint64(sampling.Now()), 0, 99}, nil)
			p.Before = func(call string) {
				if call != "Nudge" {
					return
				}
				if nudges++; nudges == 2 {
					p.Nudged = e.entry + 1
				}
			}
			if n := len(ticked(t, e)); n != 1 || nudges != 2 {
				t.Errorf("%d samples by %d signals, want the one of before, by 2", n, nudges)
			}
			if want := uint64(99 * (i + 1)); e.Lost() != want {
				t.Errorf("%d samples were lost, want %d", e.Lost(), want)
			}
		}
	})
}

// Where the log wraps around, a read ends early. The tick has the rest, too.
func TestLogThatWrapsAround(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
		p.Nudged = 0
		p.Add(nil, stackHere()...)
		reads := 0
		p.Before = func(call string) {
			if call != "Read" {
				return
			}
			if reads++; reads == 3 {
				p.Add(goruntime.Labels(), e.entry+1)
			} else {
				p.Add(nil, stackHere()...)
			}
		}
		if n := len(ticked(t, e)); n != 3 || reads != 3 {
			t.Errorf("%d samples in %d reads, want 3 in 3", n, reads)
		}
	})
}

// What cannot be decoded is lost, and does not keep the tick.
func TestUndecodable(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
		p.Add(nil, stackHere()...)
		p.AddWords([]uint64{1000, 1, 1}, nil, nil)
		p.Nudged = 0
		if n := len(ticked(t, e)); n != 1 || e.Lost() != 2 {
			t.Errorf("%d samples, %d lost, want the one before, and 2", n, e.Lost())
		}
		p.Nudged = e.entry + 1
		p.Add(nil, stackHere()...)
		if n := len(ticked(t, e)); n != 1 || e.Lost() != 2 {
			t.Errorf("afterwards %d samples, %d lost, want one, and no more", n, e.Lost())
		}
	})
}

func TestNudgesAreNoSamples(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, _ *samplingtest.CPUProfiler) {
		for range 3 {
			if got := ticked(t, e); len(got) > 0 {
				t.Errorf("a tick without samples has %d: %s", len(got), got[0].Stack[0].Name)
			}
		}
	})
}

// A runtime that is not as expected must neither hang nor keep the profiler.
func TestUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, p := faked(t)
		p.Nudged = 0
		err := e.Start(e.Interval(0))
		if !errors.Is(err, ErrUnsupported) || !errors.Is(err, sampling.ErrTransient) || !strings.Contains(err.Error(), "no signal within 2s") {
			t.Errorf("Start: %v; want an error that wraps ErrUnsupported and sampling.ErrTransient, and says why", err)
		}
		samplingtest.WantFree(t, p)
	})
}

func TestSignalsThatStopArriving(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
		p.Nudged = 0
		if err := e.Tick(discard); !errors.Is(err, sampling.ErrTaken) || !errors.Is(err, sampling.ErrTransient) {
			t.Errorf("Tick: %v, want ErrTaken, so that Start looks into it", err)
		}
		samplingtest.WantFree(t, p)
		p.Nudged = e.entry + 1
		mustStart(t, e)
	})
}

// A log that is not as the engine expects it is refused.
func TestSelfTest(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, _ *samplingtest.CPUProfiler) {
		hz := e.decoder.hz
		if err := e.test(hz, discard); err != nil {
			t.Errorf("a log that is as expected: %v", err)
		}
		if err := e.test(hz+1, discard); !errors.Is(err, sampling.ErrTransient) {
			t.Errorf("another rate: %v, want an error that wraps sampling.ErrTransient", err)
		}
	})
	labels := unsafe.Pointer(new(int64))
	for name, c := range map[string]struct {
		n    record
		want string // of the error; "" for none
	}{
		"as it is":     {record{at: 15, count: 1, tag: labels}, ""},
		"at once":      {record{at: 10, count: 1, tag: labels}, ""},
		"at the end":   {record{at: 20, count: 1, tag: labels}, ""},
		"none":         {record{}, "is not in the buffer"},
		"several":      {record{at: 15, count: 2, tag: labels}, "is not in the buffer"},
		"too early":    {record{at: 9, count: 1, tag: labels}, "between 10 and 20 is in the buffer at 9"},
		"too late":     {record{at: 21, count: 1, tag: labels}, "between 10 and 20 is in the buffer at 21"},
		"no labels":    {record{at: 15, count: 1}, "labels"},
		"other labels": {record{at: 15, count: 1, tag: unsafe.Pointer(new(int64))}, "labels"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkSent(c.n, labels, 10, 20)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("checkSent: %v, want an error with %q", err, c.want)
			}
		})
	}
}

// The self-test for systems where a signal cannot be sent to a thread.
func TestAnyThread(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, _ *samplingtest.CPUProfiler) {
		hz := e.decoder.hz
		if err := e.testAnyThread(hz, discard); err != nil {
			t.Errorf("a log that is as expected: %v", err)
		}
		if err := e.testAnyThread(hz+1, discard); !errors.Is(err, sampling.ErrTransient) {
			t.Errorf("another rate: %v, want an error that wraps sampling.ErrTransient", err)
		}
		e.decoder.last = 1 << 62
		if err := e.testAnyThread(hz, discard); err == nil || !strings.Contains(err.Error(), "after the present") {
			t.Errorf("a time that has not come: %v, want an error", err)
		}
	})
}

// The self-test sets labels of its own on the goroutine that calls Start, for a while.
func TestLabelsOfTheCallerStay(t *testing.T) {
	for name, labels := range map[string][]string{"some": {"k", "v"}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels(labels...)))
				defer pprof.SetGoroutineLabels(context.Background())
				want := goruntime.Labels()
				e, _ := faked(t)
				mustStart(t, e)
				if got := goruntime.Labels(); got != want {
					t.Errorf("labels %p, want %p", got, want)
				}
				e.Stop(discard)
			})
		})
	}
}

// A panic of emit must not keep the profiler from other code.
func TestEmitPanics(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, p *samplingtest.CPUProfiler) {
		emit := func(*sampling.Sample) { panic("emit") }
		panics := func(f func()) (panicked bool) {
			defer func() { panicked = recover() != nil }()
			f()
			return false
		}
		p.Add(nil, stackHere()...)
		if !panics(func() { _ = e.Tick(emit) }) {
			t.Error("Tick did not panic as emit did")
		}
		p.Add(nil, stackHere()...)
		if !panics(func() { e.Stop(emit) }) {
			t.Error("Stop did not panic as emit did")
		}
		samplingtest.WantFree(t, p)
		mustStart(t, e)
		time.Sleep(2 * overdue) // the read that panicked must not be given up now
		if err := e.Tick(discard); err != nil {
			t.Errorf("Tick, when reads of before are overdue: %v", err)
		}
	})
}

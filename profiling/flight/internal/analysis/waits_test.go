package analysis_test

import (
	"iter"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/profiling/states"
)

//go:noinline
func fanOut() {
	var children sync.WaitGroup
	for range 3 {
		children.Go(rest)
	}
	children.Wait()
}

// A wait for goroutines is what these did.
func TestWaitGroup(t *testing.T) {
	var r *request
	got := read(t, record(t, func() { r = do("GET /", fanOut) }), r)
	in(t, largest(t, got, states.Timer).Function, "analysis_test.rest")
	if len(got.Goroutines) != 4 {
		t.Errorf("%d goroutines worked for the request, want the serving one and 3 others", len(got.Goroutines))
	}
	if wait := interval(got, 0, states.WaitGroup); wait == nil || wait.By == nil || wait.By.RootID != got.RootID {
		t.Errorf("the wait is %+v, want one that a goroutine of the same request ended", wait)
	}
}

// interval returns the longest interval of the kind of a goroutine, or nil.
func interval(r *states.Request, goroutine int, kind states.Kind) (longest *states.Interval) {
	for i := range r.Goroutines[goroutine].Intervals {
		if x := &r.Goroutines[goroutine].Intervals[i]; x.Kind == kind && (longest == nil || x.Duration() > longest.Duration()) {
			longest = x
		}
	}
	return longest
}

// A chain of goroutines is followed to its end, which works for another request.
func TestChainOfWaits(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		first, second := make(chan int), make(chan int)
		go do("GET /slow", func() {
			blockedIn("analysis_test.receive")
			burn()
			first <- 1
		})
		go func() { second <- <-first }()
		r = do("GET /", func() { receive(second) })
	}), r)
	c := largest(t, got, states.OnCPU)
	if c.By == nil || c.By.Request != "GET /slow" {
		t.Errorf("by %+v, want GET /slow", c.By)
	}
	// The runtime may not have preempted the other goroutine inside burn.
	if want := "waited for GET /slow, which ran in "; !strings.Contains(got.Sentence(), want) {
		t.Errorf("sentence is %q, want %q in it", got.Sentence(), want)
	}
}

//go:noinline
func receive(c <-chan int) { <-c }

//go:noinline
func send(c chan<- int) { c <- 1 }

//go:noinline
func drain(c <-chan int) {
	blockedIn("analysis_test.send")
	time.Sleep(long)
	<-c
}

func TestChannelSend(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		c := make(chan int)
		go do("GET /feed", func() { drain(c) })
		r = do("GET /", func() { send(c) })
	}), r)
	c := largest(t, got, states.ChannelSend)
	in(t, c.Function, "analysis_test.send")
	if c.By == nil || c.By.Request != "GET /feed" {
		t.Fatalf("by %+v, want GET /feed", c.By)
	}
	in(t, c.By.Function, "analysis_test.drain")
}

// A timer in a select statement ends a wait without a goroutine.
func TestSelectOnTimer(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		r = do("GET /", func() {
			select {
			case <-time.After(long):
			case <-make(chan int):
			}
		})
	}), r)
	largest(t, got, states.Timer)
}

// A function of time.AfterFunc is called by a goroutine that no goroutine created.
func TestAfterFunc(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		r = do("GET /", func() {
			done := make(chan int)
			time.AfterFunc(long, func() { close(done) })
			receive(done)
		})
	}), r)
	in(t, largest(t, got, states.Timer).Function, "analysis_test.receive")
}

func TestCondition(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		c := sync.NewCond(&sync.Mutex{})
		go func() {
			blockedIn("sync.(*Cond).Wait")
			time.Sleep(long)
			c.L.Lock()
			c.Signal()
			c.L.Unlock()
		}()
		r = do("GET /", func() {
			c.L.Lock()
			c.Wait()
			c.L.Unlock()
		})
	}), r)
	largest(t, got, states.Timer)
	if interval(got, 0, states.Condition) == nil {
		t.Error("no interval is the wait for the condition")
	}
}

func TestReadersOfMutex(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		var mu sync.RWMutex
		mu.RLock()
		go do("GET /read", func() {
			blockedIn("sync.(*RWMutex).Lock")
			time.Sleep(long)
			mu.RUnlock()
		})
		r = do("GET /", func() {
			mu.Lock()
			mu.Unlock() //nolint:staticcheck // the wait is the point
		})
	}), r)
	if c := largest(t, got, states.Mutex); c.By == nil || c.By.Request != "GET /read" {
		t.Errorf("by %+v, want GET /read", c.By)
	}
}

// Several goroutines hold a mutex in turn. The one that held it for long is named, and not the last one.
func TestMutexPassedOn(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		var x index
		locked := make(chan bool)
		var others sync.WaitGroup
		others.Go(func() {
			do("GET /search", func() {
				x.mu.Lock()
				defer x.mu.Unlock()
				close(locked)
				blockedTimes("index).lookUp", 2)
				time.Sleep(long)
			})
		})
		<-locked
		others.Go(func() { do("GET /quick", x.lookUp) })
		blockedIn("index).lookUp")
		r = do("GET /", x.lookUp)
		others.Wait()
	}), r)
	if c := largest(t, got, states.Mutex); c.By == nil || c.By.Request != "GET /search" {
		t.Errorf("by %+v, want GET /search", c.By)
	}
}

// Goroutines that switch to each other run one at a time: their waits are what the other one did.
func TestCoroutine(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		r = do("GET /", func() {
			next, stop := iter.Pull(func(yield func(int) bool) {
				rest()
				yield(1)
			})
			next()
			stop()
		})
	}), r)
	in(t, largest(t, got, states.Timer).Function, "analysis_test.rest")
}

func TestTwoCauses(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		var x index
		locked := make(chan bool)
		go do("GET /search", func() { x.rebuild(locked) })
		<-locked
		r = do("GET /", func() {
			x.lookUp()
			time.Sleep(3 * long)
		})
	}), r)
	causes := slices.DeleteFunc(slices.Clone(got.Causes), func(c states.Cause) bool { return c.Kind == states.OtherPrograms })
	first, second := causes[0], causes[1]
	words := map[states.Kind]string{states.Timer: "timer", states.Mutex: "mutex that GET /search held"}
	if words[first.Kind] == "" || words[second.Kind] == "" || first.Kind == second.Kind {
		t.Fatalf("causes are %v and %v, want the timer and the mutex", first.Kind, second.Kind)
	}
	if s := got.Sentence(); strings.Index(s, words[first.Kind]) > strings.Index(s, words[second.Kind]) || !strings.Contains(s, words[first.Kind]) {
		t.Errorf("sentence is %q: want the %v, then the %v", s, first.Kind, second.Kind)
	}
}

// Where the process got less CPU time than its goroutines ran, other programs had the processors, and no goroutine is named.
func TestOtherPrograms(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		used := cputime.Process() + time.Second // more than 0 everywhere
		tracelog.CPU(used)
		r = do("GET /", burn)
		tracelog.CPU(used + time.Millisecond)
	}), r)
	if c := largest(t, got, states.OtherPrograms); c.By != nil {
		t.Errorf("by %+v, want none", c.By)
	}
}

// A goroutine that stops the world is named.
func TestStopTheWorld(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		r = do("GET /", readStats)
	}), r)
	for _, stop := range got.Goroutines[0].Intervals {
		if stop.Kind == states.StopTheWorld && stop.By != nil && stop.By.Goroutine == got.Goroutines[0].ID {
			in(t, stop.By.Function, "analysis_test.readStats")
			return
		}
	}
	t.Error("no interval is a stop of the world by the serving goroutine")
}

//go:noinline
func readStats() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
}

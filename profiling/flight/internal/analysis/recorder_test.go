package analysis_test

import (
	"bytes"
	"io"
	rt "runtime/trace"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/profiling/states"
)

// fly returns what a flight recorder has after f, which may call its argument to begin a new generation of the trace.
func fly(t *testing.T, config rt.FlightRecorderConfig, f func(generation func())) []byte {
	t.Helper()
	if tracelog.Enabled() {
		t.Skip("the execution tracer is in use")
	}
	recorder := rt.NewFlightRecorder(config)
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	defer recorder.Stop()
	f(func() {
		if _, err := recorder.WriteTo(io.Discard); err != nil {
			t.Error(err)
		}
	})
	var b bytes.Buffer
	if _, err := recorder.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Requests, waits and workers go on over the generations of a trace.
func TestGenerations(t *testing.T) {
	jobs, results := make(chan func()), make(chan int)
	go func() { // waits since before the trace
		for job := range jobs {
			job()
			results <- 1
		}
	}()
	defer close(jobs)
	var first, second *request
	data := fly(t, rt.FlightRecorderConfig{MinAge: time.Minute}, func(generation func()) {
		run := func(name string) *request {
			blockedIn("analysis_test.TestGenerations.func1")
			return do(name, func() {
				jobs <- func() {
					generation()
					rest()
					generation()
				}
				receive(results)
			})
		}
		run("GET /0") // the trace does not tell where the worker waits before
		first = run("GET /1")
		second = run("GET /2")
	})
	for _, r := range []*request{first, second} {
		got := read(t, data, r)
		in(t, largest(t, got, states.Timer).Function, "analysis_test.rest")
		if len(got.Goroutines) != 2 {
			t.Fatalf("%s has %d goroutines, want the serving one and the worker", r.name, len(got.Goroutines))
		}
		for _, i := range got.Goroutines[1].Intervals {
			if i.Kind == states.ChannelReceive {
				t.Errorf("%s: the worker waits for the next job on behalf of the request: %+v", r.name, i)
			}
		}
	}
}

// A lost generation is a gap. A wait that began before counts.
func TestLostGenerations(t *testing.T) {
	var r *request
	begin := time.Now()
	var took time.Duration
	data := fly(t, rt.FlightRecorderConfig{MinAge: time.Nanosecond, MaxBytes: 1}, func(generation func()) {
		begin = time.Now()
		r = start("GET /")
		locked, done := make(chan bool), make(chan bool)
		var x index
		go do("GET /search", func() {
			x.mu.Lock()
			close(locked)
			blockedIn("index).lookUp")
			for range 4 {
				time.Sleep(5 * time.Millisecond)
				generation()
			}
			time.Sleep(long)
			x.mu.Unlock()
			close(done)
		})
		<-locked
		x.lookUp()
		<-done
		r.end()
		took = time.Since(begin)
	})
	root := r.root()
	root.Duration = took
	got := readRoot(t, data, root)
	if gap := interval(got, 0, states.Gap); gap == nil || gap.Start != 0 {
		t.Errorf("gap is %+v, want one at the start", gap)
	}
	wait := interval(got, 0, states.Mutex)
	if wait == nil || wait.By == nil {
		t.Fatalf("the wait for the mutex is %+v, want one that a goroutine ended", wait)
	}
}

package analysis_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/profiling/flight/internal/analysis"
	"github.com/perfline/perfline/profiling/states"
)

// Goroutines that a request's goroutine creates work for the request and for the span, as do their own children.
func TestChildrenWorkForSpan(t *testing.T) {
	var r *request
	child := newSpan()
	got := read(t, record(t, func() {
		r = start("GET /")
		defer r.end()
		func() {
			tracelog.Start(r.ctx, child.SpanID(), "load")
			done := make(chan int)
			go func() {
				go func() {
					rest()
					done <- 1
				}()
			}()
			receive(done)
			tracelog.End(child.SpanID(), "load all")
		}()
	}), r)
	cause := largest(t, got, states.Timer)
	if cause.SpanID != child.SpanID() || cause.Span != "load all" {
		t.Errorf("cause is in span %v %q, want %v, with the name at its end", cause.SpanID, cause.Span, child.SpanID())
	}
	if len(got.Goroutines) != 3 {
		t.Fatalf("%d goroutines, want 3", len(got.Goroutines))
	}
	if got.Times(child.SpanID())[states.Timer] < long/2 {
		t.Errorf("times of the span are %v, want the timer of its grandchild", got.Times(child.SpanID()))
	}
	if first := got.Goroutines[0].Intervals[0]; first.SpanID != got.RootID {
		t.Errorf("the request begins in span %v, want the root", first.SpanID)
	}
}

// A worker that was created outside any request works for the request whose job it has.
func TestWorkerOfPool(t *testing.T) {
	var first, second *request
	data := record(t, func() {
		jobs, results := make(chan func()), make(chan int)
		go func() {
			for job := range jobs {
				job()
				results <- 1
			}
		}()
		run := func(name string) *request {
			blockedIn("analysis_test.TestWorkerOfPool.func1.1")
			return do(name, func() {
				jobs <- rest
				receive(results)
			})
		}
		first = run("GET /1")
		second = run("GET /2")
		close(jobs)
	})
	for _, r := range []*request{first, second} {
		got := read(t, data, r)
		in(t, largest(t, got, states.Timer).Function, "analysis_test.rest")
		if len(got.Goroutines) != 2 {
			t.Fatalf("%s has %d goroutines, want the serving one and the worker", r.name, len(got.Goroutines))
		}
		if interval(got, 1, states.Timer) == nil {
			t.Errorf("%s: the worker's job is not there: %+v", r.name, got.Goroutines[1])
		}
		for _, i := range got.Goroutines[1].Intervals {
			if i.Kind == states.ChannelReceive {
				t.Errorf("%s: the worker waits for the next job on behalf of the request: %+v", r.name, i)
			}
		}
	}
}

// A request that began before the trace has a gap. It is served by the goroutine on which it ends.
func TestRootBeforeTrace(t *testing.T) {
	if tracelog.Enabled() {
		t.Skip("the execution tracer is in use")
	}
	begin := time.Now()
	r := start("GET /")
	rest()
	root := r.root()
	var least time.Duration
	data := record(t, func() {
		rest()
		least = time.Since(begin)
		r.end()
		root.Duration = time.Since(begin)
	})
	got := read(t, data, r)
	if gap := interval(got, 0, states.Gap); gap != nil {
		t.Errorf("without its duration, the request has a gap: %+v", gap)
	}
	if interval(got, 0, states.Timer) == nil {
		t.Error("what the trace has is not there")
	}

	got = readRoot(t, data, root)
	if gap := interval(got, 0, states.Gap); gap == nil || gap.Start != 0 || gap.Duration() < long {
		t.Errorf("gap is %+v, want it from the start to the trace", gap)
	}
	if off := got.Start.Sub(begin); off < least-root.Duration-time.Millisecond || off > time.Millisecond {
		t.Errorf("the request starts %v after its start", off)
	}
	if interval(got, 0, states.Timer) == nil {
		t.Error("what the trace has is not there")
	}
}

func TestRootUnended(t *testing.T) {
	var r *request
	data := record(t, func() {
		r = start("GET /")
		rest()
	})
	r.end()
	got := read(t, data, r)
	if !got.Unended {
		t.Error("Unended is false")
	}
	if interval(got, 0, states.Timer) == nil {
		t.Error("what the request did is not there")
	}
}

// A root that is not in the trace is left out.
func TestRootUnknown(t *testing.T) {
	data := record(t, func() { do("GET /", func() {}) })
	requests, err := analysis.Read(bytes.NewReader(data), []analysis.Root{{SpanID: newSpan().SpanID()}}, nil)
	if err != nil || len(requests) != 0 {
		t.Errorf("Read returns %d requests and %v, want none", len(requests), err)
	}
}

// A request that moves to another goroutine is followed to the one on which it ends.
func TestRootEndsElsewhere(t *testing.T) {
	var r *request
	got := read(t, record(t, func() {
		done := make(chan bool)
		go func() {
			r = start("message")
			go func() {
				rest()
				r.end()
				close(done)
			}()
		}()
		<-done
	}), r)
	in(t, largest(t, got, states.Timer).Function, "analysis_test.rest")
	if wait := interval(got, 0, states.Wait); wait == nil || wait.By == nil || wait.By.Goroutine != got.Goroutines[1].ID {
		t.Errorf("the serving goroutine's wait is %+v, want one for the other goroutine", wait)
	}
}

// The clock of the machine gives the start.
func TestStart(t *testing.T) {
	var r *request
	var before, after time.Time
	got := read(t, record(t, func() {
		before = time.Now()
		r = do("GET /", func() {})
		after = time.Now()
	}), r)
	const off = time.Millisecond // two clocks, read one after the other
	if got.Start.Before(before.Add(-off)) || got.Start.After(after.Add(off)) {
		t.Errorf("Start is %v, want it between %v and %v", got.Start, before, after)
	}
	if got.Name != "GET /" || got.TraceID != r.span.TraceID() || got.RootID != r.span.SpanID() {
		t.Errorf("request is %q %v %v", got.Name, got.TraceID, got.RootID)
	}
}

// A note may be late, because the kernel paused the thread after the clock was read. The request has the time of its span, and the states of
// that time.
func TestLateNotes(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after time.Duration // the pauses between the span's times and its notes
		rests         int           // in the span's time; one more is in each pause
	}{
		{"neither", 0, 0, 2},
		{"start", long, 0, 3},
		{"end", 0, long, 2},
		{"end, on a busy machine", 0, 10 * long, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r *request
			var begin time.Time
			var took time.Duration
			data := record(t, func() {
				begin = time.Now()
				time.Sleep(c.before)
				r = start("GET /")
				rest()
				rest()
				took = time.Since(begin)
				time.Sleep(c.after)
				r.end()
			})
			root := r.root()
			root.Duration = took
			got := readRoot(t, data, root)
			if got.Duration != took {
				t.Errorf("the request took %v, want %v, as its span did", got.Duration, took)
			}
			if gap := interval(got, 0, states.Gap); gap != nil {
				t.Errorf("the trace has it all, and the request has the gap %+v", gap)
			}
			timers := 0
			for _, i := range got.Goroutines[0].Intervals {
				if i.Kind == states.Timer && i.Duration() >= long/2 {
					timers++
				}
			}
			if timers != c.rests {
				t.Errorf("the request waits for %d timers, want %d", timers, c.rests)
			}
		})
	}
	t.Run("a span with times of the program's choice", func(t *testing.T) {
		var r *request
		data := record(t, func() { r = do("GET /", rest) })
		plain := read(t, data, r)
		root := r.root()
		root.Duration = time.Hour
		if got := readRoot(t, data, root); got.Duration != plain.Duration {
			t.Errorf("the request took %v, want %v, as the trace says", got.Duration, plain.Duration)
		}
	})
}

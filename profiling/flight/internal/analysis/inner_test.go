package analysis_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/goruntime"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/profiling/states"
)

// within runs f as an inner span of this goroutine.
func within(name string, f func()) trace.SpanID {
	id, start := newSpan().SpanID(), goruntime.Nanotime()
	f()
	tracelog.Inner(id, goruntime.GoroutineID(), start, goruntime.Nanotime(), name)
	return id
}

// elsewhere calls f on another goroutine, and waits for it.
func elsewhere(f func()) {
	done := make(chan int)
	go func() {
		f()
		done <- 1
	}()
	receive(done)
}

// needGoroutines skips a test where goroutines have no known numbers: there, the trace has no inner spans.
func needGoroutines(t *testing.T) {
	t.Helper()
	if goruntime.GoroutineID() == 0 {
		t.Skip("the number of a goroutine is not known here")
	}
}

// took checks how long a span's goroutines were in a timer, in units of long. Timers may be late, so that there is no upper bound but
// for 0. A goroutine may lose its processor before the trace has that it sleeps, so that half a unit may be missing.
func took(t *testing.T, r *states.Request, name string, id trace.SpanID, want int) {
	t.Helper()
	got := r.Times(id)[states.Timer]
	if got < time.Duration(want)*long-long/2 || want == 0 && got > 0 {
		t.Errorf("%s waited %v for timers, want %v", name, got, time.Duration(want)*long)
	}
}

// Spans that the trace has at their end only have the time between, without the spans inside.
func TestInnerSpans(t *testing.T) {
	needGoroutines(t)
	var r *request
	var outer, first, second, worker trace.SpanID
	got := read(t, record(t, func() {
		r = start("GET /")
		rest()
		outer = within("outer", func() {
			first = within("first", rest)
			rest()
			rest()
			second = within("second", func() {
				for range 4 {
					rest()
				}
			})
			elsewhere(func() {
				blockedIn("analysis_test.receive")
				worker = within("worker", rest)
			})
		})
		r.end()
	}), r)
	took(t, got, "the root", got.RootID, 1)
	took(t, got, "outer", outer, 2)
	took(t, got, "first", first, 1)
	took(t, got, "second", second, 4)
	took(t, got, "worker", worker, 1)
	if waited := got.Times(outer)[states.ChannelReceive]; waited < long/2 {
		t.Errorf("outer waited %v for the worker's goroutine", waited)
	}
	if cause := largest(t, got, states.Timer); cause.SpanID != second || cause.Span != "second" {
		t.Errorf("the cause is in span %v %q, want %v second", cause.SpanID, cause.Span, second)
	}
}

// Goroutines that are created or woken in an inner span work for it, and so do theirs.
func TestInnerSpansOfOtherGoroutines(t *testing.T) {
	needGoroutines(t)
	var r *request
	var loads, job trace.SpanID
	got := read(t, record(t, func() {
		jobs, done := make(chan func()), make(chan int)
		go func() {
			for job := range jobs {
				job()
				done <- 1
			}
		}()
		blockedIn("analysis_test.TestInnerSpansOfOtherGoroutines.func1.1")
		r = start("GET /")
		loads = within("load", func() {
			go func() {
				rest()
				go func() {
					rest()
					done <- 1
				}()
			}()
			receive(done)
		})
		job = within("job", func() {
			jobs <- func() {
				rest()
				rest()
				rest()
			}
			receive(done)
		})
		r.end()
		close(jobs)
	}), r)
	took(t, got, "the root", got.RootID, 0)
	took(t, got, "load", loads, 2)
	took(t, got, "job", job, 3)
	if cause := largest(t, got, states.Timer); cause.Span != "job" {
		t.Errorf("the cause is in span %q, want job", cause.Span)
	}
}

// A request that began before the trace has its own inner spans, and not the ones that its goroutine has for other requests.
func TestInnerSpansBeforeTrace(t *testing.T) {
	needGoroutines(t)
	if tracelog.Enabled() {
		t.Skip("the execution tracer is in use")
	}
	r := start("GET /")
	begin := time.Now()
	var span, other trace.SpanID
	root := r.root()
	data := record(t, func() {
		span = within("load", rest)
		r.end()
		root.Duration = time.Since(begin)
		do("GET /other", func() { other = within("load", rest) })
	})
	got := readRoot(t, data, root)
	took(t, got, "load", span, 1)
	took(t, got, "a span of another request", other, 0)
}

// A span may end on another goroutine than it started, and before a span that started within it.
func TestInnerSpansOutOfOrder(t *testing.T) {
	needGoroutines(t)
	var r *request
	first, second := newSpan().SpanID(), newSpan().SpanID()
	got := read(t, record(t, func() {
		r = start("GET /")
		goroutine, began := goruntime.GoroutineID(), goruntime.Nanotime()
		rest()
		then := goruntime.Nanotime()
		rest()
		ended := goruntime.Nanotime()
		rest()
		tracelog.Inner(second, goroutine, then, goruntime.Nanotime(), "second")
		elsewhere(func() { tracelog.Inner(first, goroutine, began, ended, "first") })
		r.end()
	}), r)
	took(t, got, "first", first, 1)
	took(t, got, "second", second, 2)
}

// A span of an earlier request that ends late is not inside the request that its goroutine serves now.
func TestInnerSpanOfEarlierRequest(t *testing.T) {
	needGoroutines(t)
	var r *request
	late := newSpan().SpanID()
	got := read(t, record(t, func() {
		goroutine, began := goruntime.GoroutineID(), int64(0)
		do("GET /a", func() { began = goruntime.Nanotime() })
		r = start("GET /b")
		rest()
		elsewhere(func() { tracelog.Inner(late, goroutine, began, goruntime.Nanotime(), "of GET /a") })
		r.end()
	}), r)
	took(t, got, "the root", got.RootID, 1)
	took(t, got, "a span of another request", late, 0)
}

// A span that began before the note of its root, with a start of its own, is inside the root.
func TestInnerSpanBeforeRoot(t *testing.T) {
	needGoroutines(t)
	var r *request
	id := newSpan().SpanID()
	got := read(t, record(t, func() {
		began := goruntime.Nanotime()
		r = start("GET /")
		rest()
		tracelog.Inner(id, goruntime.GoroutineID(), began, goruntime.Nanotime(), "all")
		rest()
		r.end()
	}), r)
	took(t, got, "the root", got.RootID, 1)
	took(t, got, "the span", id, 1)
}

// Time on a processor without a sample counts for the function that ended the inner span.
func TestInnerSpanNamesFunction(t *testing.T) {
	needGoroutines(t)
	var r *request
	got := read(t, record(t, func() {
		r = start("GET /")
		within("page", func() { sink.Add(hash(2_000_000)) })
		r.end()
	}), r)
	for _, i := range got.Goroutines[0].Intervals {
		if i.Kind == states.OnCPU && i.Stack != nil {
			t.Skip("the goroutine was preempted")
		}
	}
	c := largest(t, got, states.OnCPU)
	if in(t, c.Function, "analysis_test.within"); c.Span != "page" {
		t.Errorf("the cause is in span %q, want page", c.Span)
	}
}

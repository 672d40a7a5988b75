package analysis_test

import (
	"bytes"
	"context"
	"encoding/binary"
	rt "runtime/trace"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/profiling/flight/internal/analysis"
	"github.com/perfline/perfline/profiling/states"
)

// record returns the execution trace of f. It notes the CPU time, so that time which a busy machine takes has a cause of its
// own.
func record(t testing.TB, f func()) []byte {
	t.Helper()
	if tracelog.Enabled() {
		t.Skip("the execution tracer is in use")
	}
	var b bytes.Buffer
	if err := rt.Start(&b); err != nil {
		t.Fatal(err)
	}
	tracelog.CPU(cputime.Process())
	f()
	tracelog.CPU(cputime.Process())
	rt.Stop()
	return b.Bytes()
}

var lastID atomic.Uint64

// A request is a root of a test.
type request struct {
	ctx  context.Context
	span trace.SpanContext
	name string
	task *rt.Task
}

func newSpan() trace.SpanContext {
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], lastID.Add(1))
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 15: 1}, SpanID: id})
}

// start begins a request on this goroutine.
func start(name string) *request {
	r := &request{span: newSpan(), name: name}
	r.ctx, r.task = rt.NewTask(context.Background(), "request")
	tracelog.Root(r.ctx, r.span, name)
	return r
}

func (r *request) end() {
	tracelog.End(r.span.SpanID(), r.name)
	r.task.End()
}

func (r *request) root() analysis.Root {
	return analysis.Root{TraceID: r.span.TraceID(), SpanID: r.span.SpanID()}
}

// do runs f as a request.
func do(name string, f func()) *request {
	r := start(name)
	f()
	r.end()
	return r
}

// read returns the request from the trace, and checks what is true for each one.
func read(t testing.TB, data []byte, r *request) *states.Request {
	t.Helper()
	return readRoot(t, data, r.root())
}

func readRoot(t testing.TB, data []byte, root analysis.Root) *states.Request {
	t.Helper()
	requests, err := analysis.Read(bytes.NewReader(data), []analysis.Root{root}, nil)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	if len(requests) != 1 {
		t.Fatalf("Read returns %d requests, want 1", len(requests))
	}
	check(t, &requests[0])
	t.Log(requests[0].Sentence())
	for _, c := range requests[0].Causes {
		t.Logf("  %v %v %s by %+v", c.Duration, c.Kind, c.Function, c.By)
	}
	return &requests[0]
}

// check fails unless intervals are in order and disjoint, the intervals of the serving goroutine cover the request,
// and causes add up to its duration.
func check(t testing.TB, r *states.Request) {
	t.Helper()
	if len(r.Goroutines) == 0 {
		t.Fatalf("request %q has no goroutine", r.Name)
	}
	for n, g := range r.Goroutines {
		var at, sum time.Duration
		for i, interval := range g.Intervals {
			if interval.Start < at || interval.End <= interval.Start || interval.End > r.Duration {
				t.Errorf("goroutine %d: interval %d is [%v, %v), the one before ended at %v, the request at %v", n, i, interval.Start, interval.End, at, r.Duration)
			}
			if n == 0 && interval.Start != at {
				t.Errorf("the serving goroutine has a hole from %v to %v", at, interval.Start)
			}
			at = interval.End
			sum += interval.Duration()
		}
		if n == 0 && sum != r.Duration {
			t.Errorf("the serving goroutine's intervals have %v, the request %v", sum, r.Duration)
		}
	}
	var sum time.Duration
	for i, c := range r.Causes {
		if c.Duration <= 0 || i > 0 && c.Duration > r.Causes[i-1].Duration {
			t.Errorf("cause %d has %v: want causes in order, longest first", i, c.Duration)
		}
		sum += c.Duration
	}
	if sum != r.Duration {
		t.Errorf("the causes have %v, the request %v", sum, r.Duration)
	}
}

// largest fails unless the request's largest cause is of this kind. Machines that are busy with other programs are
// no fault of the analysis: the cause before those counts.
func largest(t testing.TB, r *states.Request, kind states.Kind) states.Cause {
	t.Helper()
	for _, c := range r.Causes {
		if c.Kind == states.OtherPrograms && kind != states.OtherPrograms {
			continue
		}
		if c.Kind != kind {
			t.Fatalf("largest cause is %v in %s, want %v\n%s", c.Kind, c.Function, kind, r.Sentence())
		}
		return c
	}
	t.Fatal("no cause")
	return states.Cause{}
}

// in fails unless the names of both functions are equal without the package.
func in(t testing.TB, got, want string) {
	t.Helper()
	if states.Short(got) != want {
		t.Errorf("function is %q, want %s", got, want)
	}
}

//go:build lab

package analysis_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	rt "runtime/trace"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/tracelog"
	"github.com/perfline/perfline/internal/waiting"
	"github.com/perfline/perfline/waits"
)

var record = flag.Bool("record", false, "write the recordings of TestLabRecordings to testdata; needs -trimpath")

// scenarios are the programs of the fixtures, by their names.
var scenarios = map[string]func(*recorder){}

// Scenarios show what their fixtures state, also in a live trace. With -record, the recordings
// become the fixtures of this release of Go:
//
//	go test -tags lab -trimpath -count=1 -run TestLabRecordings ./waits/flight/internal/analysis -record
func TestLabRecordings(t *testing.T) {
	for _, f := range fixtures {
		t.Run(f.name, func(t *testing.T) {
			if scenarios[f.name] == nil {
				t.Fatal("the fixture has no scenario")
			}
			a := try(f)
			for n := 1; len(a.problems) > 0 && n < mostAttempts; n++ {
				a = try(f)
			}
			switch {
			case len(a.problems) > 0:
				t.Errorf("the last of %d attempts shows something else than %q:\n%s",
					mostAttempts, f.statement, strings.Join(a.problems, "\n"))
			case *record:
				write(t, f.name, a)
			}
		})
	}
}

// mostAttempts is how often a scenario is tried. The machine may be in the way: other programs have
// the processors, or a timer is late.
const mostAttempts = 50

// No scenario needs more bytes, compressed.
const (
	largestTrace  = 16 << 10
	largestGolden = 32 << 10
)

// mostOthers is the part of a recorded request that other programs may have.
const mostOthers = 0.1

// An attempt is a run of a scenario. As a judge, it has what is wrong with it.
type attempt struct {
	recorder
	got      []waits.Request
	problems []string
}

// errAttempt is the panic that ends an attempt.
type errAttempt struct{}

func (a *attempt) Helper() {}

func (a *attempt) Errorf(format string, args ...any) {
	a.problems = append(a.problems, fmt.Sprintf(format, args...))
}

func (a *attempt) Fatalf(format string, args ...any) {
	a.Errorf(format, args...)
	panic(errAttempt{})
}

func try(f fixture) (a *attempt) {
	a = &attempt{}
	a.judge = a
	defer func() {
		if v := recover(); v != nil && v != (errAttempt{}) {
			panic(v)
		}
	}()
	lastID.Store(0)
	runtime.GC() // what was before is swept, and the sweeper has no part in the trace
	scenarios[f.name](&a.recorder)
	a.got = a.read(a, a.wanted()...)
	for i := range a.got {
		r := &a.got[i]
		if skew := r.Start.Sub(a.roots[i].began); skew.Abs() > waiting.SampleSkew {
			a.Errorf("%s begins %v after its span", r.Name, skew)
		}
		for _, c := range r.Causes {
			if c.Kind == waits.OtherPrograms && c.Duration.Seconds() > mostOthers*r.Duration.Seconds() && !a.others {
				a.Errorf("%s: other programs had the processors for %v of %v",
					r.Name, c.Duration, r.Duration)
			}
		}
	}
	if size := len(compress(a, a.data)); size > largestTrace {
		a.Errorf("the compressed trace has %d bytes, want %d at most", size, largestTrace)
	}
	if size := len(goldenText(a.got)); size > largestGolden {
		a.Errorf("the golden result has %d bytes, want %d at most", size, largestGolden)
	}
	if f.shows != nil {
		f.shows(a, &a.recording, a.got)
	}
	return a
}

// compress compresses a trace.
func compress(j judge, data []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(data)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		j.Fatalf("%v", err)
	}
	return b.Bytes()
}

// write writes a fixture.
func write(t *testing.T, name string, a *attempt) {
	t.Helper()
	if path := machinePath(t, a.data); path != "" {
		t.Fatalf("the trace has the path %s: record with -trimpath", path)
	}
	release := strings.Join(strings.Split(runtime.Version(), ".")[:2], ".")
	if err := os.MkdirAll(folder(release), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder(release), name)
	if err := os.WriteFile(path+traceSuffix, compress(a, a.data), 0o644); err != nil {
		t.Fatal(err)
	}
	writeGolden(t, release, name, &a.recording, a.got)
}

// A recorder records one scenario.
type recorder struct {
	recording
	judge
	others bool // other programs may have the processors: the scenario is about them
}

// trace records the execution trace of f. It notes the CPU time, so that time which a busy machine
// takes has a cause of its own.
func (r *recorder) trace(f func()) {
	r.traceOnly(func() {
		meter := cputime.NewMeter()
		tracelog.CPU(meter.Read())
		f()
		tracelog.CPU(meter.Read())
	})
}

// traceOnly records the execution trace of f.
func (r *recorder) traceOnly(f func()) {
	var b bytes.Buffer
	if err := rt.Start(&b); err != nil {
		r.Fatalf("the execution tracer does not start: %v", err)
	}
	f()
	rt.Stop()
	r.data = b.Bytes()
}

// fly records what a flight recorder has after f, which may call its argument to begin a new
// generation of the trace.
func (r *recorder) fly(config rt.FlightRecorderConfig, f func(generation func())) {
	recorder := rt.NewFlightRecorder(config)
	if err := recorder.Start(); err != nil {
		r.Fatalf("the flight recorder does not start: %v", err)
	}
	defer recorder.Stop()
	f(func() {
		if _, err := recorder.WriteTo(io.Discard); err != nil {
			r.Fatalf("no new generation begins: %v", err)
		}
	})
	var b bytes.Buffer
	if _, err := recorder.WriteTo(&b); err != nil {
		r.Fatalf("the flight recorder writes no trace: %v", err)
	}
	r.data = b.Bytes()
}

// want adds requests to those that Read is asked for.
func (r *recorder) want(requests ...*request) {
	for _, x := range requests {
		r.roots = append(r.roots, root{id: x.span.SpanID(), began: x.began, took: x.took, name: x.name})
	}
}

var lastID atomic.Uint64

func newSpan() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: id(lastID.Add(1))})
}

// A request is a root of a scenario.
type request struct {
	ctx    context.Context
	span   trace.SpanContext
	parent trace.SpanID
	name   string
	task   *rt.Task
	began  time.Time
	took   time.Duration
}

// start begins a request on this goroutine. As a tracer does, it reads the clock before it makes
// the note.
func start(name string) *request { return startCalled(name, trace.SpanID{}, func() {}) }

// startAfter calls pause between the reading of the clock and the note.
func startAfter(name string, pause func()) *request {
	return startCalled(name, trace.SpanID{}, pause)
}

// startCalled begins a request that a span has sent.
func startCalled(name string, parent trace.SpanID, pause func()) *request {
	r := &request{span: newSpan(), parent: parent, name: name, began: time.Now()}
	pause()
	r.ctx, r.task = rt.NewTask(context.Background(), "request")
	tracelog.Root(r.ctx, r.span, parent, name)
	return r
}

func (r *request) end() { r.endAfter(func() {}) }

// endAfter calls pause between the reading of the clock and the note.
func (r *request) endAfter(pause func()) {
	r.took = time.Since(r.began)
	pause()
	tracelog.RootEnd(r.ctx, r.span, r.parent, r.name)
	r.task.End()
}

// do runs f as a request.
func do(name string, f func()) *request {
	r := start(name)
	f()
	r.end()
	return r
}

// add adds scenarios. Each name has a fixture.
func add(more map[string]func(*recorder)) bool {
	for name, scenario := range more {
		if scenarios[name] != nil || !slices.ContainsFunc(fixtures, func(f fixture) bool { return f.name == name }) {
			panic("scenario " + name + ": its fixture is missing, or has another scenario")
		}
		scenarios[name] = scenario
	}
	return true
}

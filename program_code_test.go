package perfline_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A program is code that a program gives to perfline. Each function calls at, and does its work unless the test has armed it.
type program struct {
	mu      sync.Mutex // guards what follows
	armed   string
	fault   string
	once    bool
	hits    map[string]int
	release chan struct{}
	calls   sync.WaitGroup // of do
	stack   []byte         // of the last panic in one of them
	log     strings.Builder
}

func newProgram(armed, fault string, once bool) *program {
	return &program{armed: armed, fault: fault, once: once, hits: map[string]int{}, release: make(chan struct{})}
}

// at notes that a function is called, and does what the test has armed it to.
func (p *program) at(name string) {
	p.mu.Lock()
	p.hits[name]++
	armed := name == p.armed && (!p.once || p.hits[name] == 1)
	p.mu.Unlock()
	if !armed {
		return
	}
	switch p.fault {
	case "panic":
		panic("user code")
	case "panic with a value that panics":
		panic(panicking{})
	case "Goexit":
		runtime.Goexit()
	case "block":
		<-p.release
	}
}

// panicking is a value whose text cannot be made.
type panicking struct{}

func (panicking) String() string { panic("the value's own panic") }

func (p *program) called(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits[name]
}

// do makes a call of the program's on a goroutine of its own. It reports whether the call has returned within the time.
func (p *program) do(within time.Duration, f func()) (returned bool, panicked any) {
	done := make(chan struct{})
	p.calls.Go(func() {
		defer close(done)
		defer func() {
			if panicked = recover(); panicked != nil {
				p.stack = debug.Stack()
			}
		}()
		f()
		returned = true
	})
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-done:
		return returned, panicked
	case <-t.C:
		return false, nil
	}
}

// A part of perfline, set up with all that a program can give to it.
type part struct {
	work     []func() // what the program does: requests, spans, reads of what it has recorded
	control  func()   // a request that works
	arrived  func() bool
	flush    func(context.Context) error
	shutdown func(context.Context) error
	panics   func() uint64
}

// A setting sets a part up. It returns nil if the program's code does not let it.
type setting func(t *testing.T, p *program) *part

// The functions that the test lets fail, by the setting that calls them.
var settings = map[string]setting{"a pipeline": newPipelinePart, "a pipeline with a SpanExporter": newExporterPart, "a provider": newProviderPart, "a Processor": newProcessorPart}

// passes are functions whose failure is the program's own: perfline calls them when the program calls perfline, and has nothing of its own to lose.
var passes = map[string]string{
	"context.Context.": "a context is the caller's",
	"error.Error":      "TestProviderFaultsOfSpans of bridge; the tests of texts of internal/record",
	"fmt.State.":       "package fmt's",
	"io.Writer.Write":  "the caller writes a file",
	"testing.TB.":      "helpers of tests",

	"net/http.Handler.":               "the handler answers the request: TestMiddlewarePanic of bridgehttp",
	"net/http.ResponseWriter.":        "net/http's",
	"net/http.RoundTripper.":          "the caller's request: TestTransportPanics of bridgehttp",
	"log/slog.Handler.With":           "the program's own loggers",
	"log/slog.Leveler.Level":          "the caller's line",
	"marks.Timerify f":                "the caller's function",
	"marks.TimerifyOptions.Histogram": "the caller's function, after the measure has ended",
	"profiling.Do f":                  "the caller's function",
	"profiling/profile.":              "reading a profile for the caller",
	"bridge/bridgelog.Pipeline.":      "the caller of NewLoggerProvider is asked once",
	"otel/sdk/metric.Reader.Collect":  "the program or the SDK calls it",
	"otel/sdk/trace.ReadOnlySpan.":    "spans are the SDK's: its provider calls",
	"otel/sdk/trace.ReadWriteSpan.":   "spans are the SDK's: its provider calls",

	"exporter.Delivery.OnRead f":    "a tracer provider's own function",
	"exporter.LogDelivery.OnRead f": "a tracer provider's own function",

	"live.":              "net/http answers the one request: TestFunctionsThatPanic of guard",
	"guard.":             "net/http answers the one request: TestFunctionsThatPanic of guard",
	"profiling/service.": "net/http answers the one request: TestFunctionsThatPanic of guard",
	"mcpserver.":         "the tool's caller gets an error: TestPanic of mcpserver",
	"profiling.Profiler.OnSampleBufferFull f": "TestListenersOfAFullBuffer of profiling",
	"otel/sdk/trace.Sampler.Description":      "TestSamplerWithoutDescription",
}

// given returns the functions and methods that a program can give to perfline, as the API has them.
func given(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadFile("internal/repository/testdata/given.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(list)), "\n")
}

func passing(name string) bool {
	for prefix := range passes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Whatever the program's code does, perfline goes on. A panic reaches neither the caller nor a goroutine of perfline's, and is counted or
// said. Flush and Shutdown return a second after their context at the latest. Afterwards, requests are traced as before.
func TestProgramCodeThatFails(t *testing.T) {
	for what, set := range settings {
		t.Run(what, func(t *testing.T) {
			calm := newProgram("", "", false)
			synctest.Test(t, func(t *testing.T) { playPart(t, calm, set) })
			for _, name := range slices.Sorted(maps.Keys(calm.hits)) {
				for _, fault := range []string{"panic", "panic with a value that panics", "Goexit", "block"} {
					for _, once := range []bool{true, false} {
						t.Run(fmt.Sprintf("%s/%s/once=%t", name, fault, once), func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) { playPart(t, newProgram(name, fault, once), set) })
						})
					}
				}
			}
		})
	}
}

// Each function that the API takes fails in the test above, or is said to need no row.
func TestProgramCodeIsComplete(t *testing.T) {
	reached := map[string]bool{}
	for _, set := range settings {
		calm := newProgram("", "", false)
		synctest.Test(t, func(t *testing.T) { playPart(t, calm, set) })
		for name := range calm.hits {
			reached[name] = true
		}
	}
	for _, name := range given(t) {
		if reached[name] == passing(name) {
			t.Errorf("%s: called by the test: %t, passes: %t; want one of them", name, reached[name], passing(name))
		}
	}
	for prefix := range passes {
		if !slices.ContainsFunc(given(t), func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			t.Errorf("%s passes, but the API takes nothing of the kind", prefix)
		}
	}
}

// quiet are functions whose failure shows in the text that perfline makes of them, or that take the lines which would say it.
var quiet = map[string]bool{"exporter.Sender: fmt.Stringer.String": true, "log/slog.Handler.Enabled": true, "log/slog.Handler.Handle": true}

// atSetup are functions whose panic ends the call that sets a part up.
var atSetup = map[string]bool{"otel/metric.MeterProvider.Meter": true, "otel/trace.TracerProvider.Tracer": true}

// playPart sets a part up, uses it, and shuts it down.
func playPart(t *testing.T, p *program, set setting) {
	t.Helper()
	defer synctest.Wait()
	var x *part
	released := sync.OnceFunc(func() { close(p.release) })
	defer released()
	mayStop := p.fault == "Goexit" || p.fault == "block" // what happens on the caller's goroutine
	check := func(what string, within time.Duration, mayStop bool, f func()) bool {
		t.Helper()
		returned, panicked := p.do(within, f)
		if panicked != nil {
			t.Errorf("%s: the caller gets the panic %T\n%s", what, panicked, p.stack)
		}
		if !returned && !mayStop {
			t.Errorf("%s does not return within %v", what, within)
		}
		return returned
	}
	if setUp, panicked := p.do(time.Minute, func() { x = set(t, p) }); !setUp {
		if panicked != nil && !atSetup[p.armed] || panicked == nil && !mayStop {
			t.Errorf("the setup does not return, with the panic %T", panicked)
		}
		released()
		p.calls.Wait()
		if x != nil { // it was late
			_ = x.shutdown(context.Background())
		}
		return
	}
	if x == nil {
		return
	}
	for i, work := range x.work {
		check(fmt.Sprintf("work %d", i), time.Minute, mayStop, work)
	}
	duringShutdown := p.called(p.armed)
	var err error
	bounded := func(what string, f func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		check(what, 6*time.Second, false, func() { err = errors.Join(err, f(ctx)) })
	}
	bounded("Flush", x.flush)
	if p.once && p.fault != "block" {
		check("a request afterwards", time.Minute, false, x.control)
		bounded("Flush afterwards", x.flush)
		if !x.arrived() {
			t.Error("the request afterwards did not arrive")
		}
	}
	bounded("Shutdown", x.shutdown)
	bounded("Shutdown again", x.shutdown)
	hit := p.called(p.armed)
	if p.armed != "" && hit == 0 {
		t.Error("it was not called")
	}
	switch {
	case p.armed == "":
		if err != nil {
			t.Errorf("without a fault: %v", err)
		}
	case p.fault == "block":
		if hit > duringShutdown && !p.once && err == nil {
			t.Error("the errors of Flush and Shutdown do not name what hangs")
		}
	case !quiet[p.armed] && x.panics() == 0 && err == nil && !strings.Contains(p.lines(), "perfline:"):
		t.Error("it is neither counted nor said")
	}
	released()
	p.calls.Wait()
}

func (p *program) lines() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

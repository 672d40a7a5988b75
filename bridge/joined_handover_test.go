package bridge_test

import (
	"context"
	"log"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/bridge"
	"github.com/perfline/perfline/internal/otlpenc"
	"github.com/perfline/perfline/internal/record"
	"github.com/perfline/perfline/marks"
	"github.com/perfline/perfline/observer"
)

// lists is an output that notes how many Spans come in each list.
type lists struct {
	arrivals
	lengths []int
}

func (l *lists) Accept(all []bridge.Spans) {
	l.arrivals.Accept(all)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lengths = append(l.lengths, len(all))
}

// came returns the lengths of the lists since the last call. It is no reader: nothing is handed over for it.
func (l *lists) came() []int {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	came := l.lengths
	l.lengths = nil
	return came
}

// Requests that have ended are handed over together: after 64 of them, or after 100 ms.
func TestRequestsAreHandedOverTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &lists{}
		tl := observer.NewTimeline(observer.TimelineOptions{})
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: sdktrace.AlwaysSample(), Exporters: []bridge.Output{out}})
		defer func() { _ = p.Shutdown(t.Context()) }()
		ctx, tracer := observer.NewContext(t.Context(), tl), p.Tracer("test")
		serve := func(n int) {
			for range n {
				ctx, span := tracer.Start(ctx, "GET /")
				marks.Mark(ctx, "mark", slog100)
				span.End()
			}
		}
		serve(3)
		time.Sleep(100*time.Millisecond - 1)
		if got := out.came(); len(got) > 0 {
			t.Errorf("within 100 ms, %v came", got)
		}
		if s := (*record.Timeline)(tl).UnitStats(); s.Waiting != 3 || s.WaitingBytes < 3<<10 {
			t.Errorf("%+v, want 3 units that wait, with their contents", s)
		}
		time.Sleep(time.Nanosecond)
		if out.came(); out.count.Load() != 3 {
			t.Errorf("after 100 ms, %d came, want 3", out.count.Load())
		}
		if s := (*record.Timeline)(tl).UnitStats(); s.Waiting != 0 || s.WaitingBytes != 0 {
			t.Errorf("%+v, want nothing that waits", s)
		}
		serve(64 * 64) // by however many processors: one of them has 64
		if got := out.came(); len(got) == 0 || slices.Max(got) != 64 {
			t.Errorf("without a wait, %v came, want 64 together", got)
		}
	})
}

var slog100 = slog.String("text", strings.Repeat("x", 100))

// Readers, Stats, ForceFlush and Shutdown do not miss what ended before the call.
func TestReadersMissNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &arrivals{}
		tl := observer.NewTimeline(observer.TimelineOptions{})
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{Timeline: tl, Sampler: sdktrace.AlwaysSample(), Exporters: []bridge.Output{out}})
		serve := func() {
			_, span := p.Tracer("test").Start(t.Context(), "GET /", trace.WithAttributes(attribute.Int("n", 1)))
			span.End()
		}
		for i, read := range []func(){
			func() { out.read() },
			func() { p.Stats() },
			func() { _ = p.ForceFlush(t.Context()) },
			func() { _ = p.Shutdown(t.Context()) },
			func() { out.read() }, // after Shutdown
		} {
			serve()
			if got := out.count.Load(); i < 4 && got != int64(i) {
				t.Errorf("before step %d, %d spans have arrived", i, got)
			}
			read()
			if got := out.count.Load(); i < 4 && got != int64(i)+1 {
				t.Errorf("after step %d, %d spans have arrived", i, got)
			}
		}
	})
}

// printed is an output that prints the names of spans at once.
type printed struct{ came chan string }

func (p printed) Accept(all []bridge.Spans) {
	for _, spans := range all {
		for s, err := range otlpenc.Spans(spans).All() {
			if err != nil {
				panic(err) // the encoder made them
			}
			_, _ = os.Stdout.WriteString(s.Name + "\n")
			p.came <- s.Name
		}
	}
}
func (printed) ForceFlush(context.Context) error { return nil }
func (printed) Shutdown(context.Context) error   { return nil }

// A program that is killed, or that ends by log.Fatal, loses no request that was handed over: those that ended 100 ms before.
func TestKilledProgram(t *testing.T) {
	const way = "PERFLINE_TEST_ENDS_BY"
	if by := os.Getenv(way); by != "" {
		out := printed{make(chan string, 10)}
		p := bridge.NewTracerProvider(bridge.TracerProviderConfig{Sampler: sdktrace.AlwaysSample(), Exporters: []bridge.Output{out}})
		for _, name := range []string{"first", "second", "last"} {
			_, span := p.Tracer("test").Start(t.Context(), name)
			span.End()
			if name != "last" {
				<-out.came
			}
		}
		if by == "log.Fatal" {
			log.Fatal("the program ends")
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		log.Print(err) // nil: the process ends soon
		select {}
	}
	for _, by := range []string{"log.Fatal", "SIGKILL"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledProgram$")
		cmd.Env = append(os.Environ(), way+"="+by)
		text, err := cmd.Output()
		if err == nil {
			t.Errorf("%s: the program has not failed", by)
		}
		if got := strings.Fields(string(text)); len(got) < 2 || got[0] != "first" || got[1] != "second" {
			t.Errorf("%s: %q arrived, want the first two at least", by, got)
		}
	}
}

package profile_test

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/profiling/profile"
)

// largeTrace is a trace of n samples: 1 000 stacks of 30 functions, 500 spans.
func largeTrace(n int) *profile.Trace {
	p, b := newProgram(), profile.NewBuilder(nil)
	var stacks [][]*profile.Call
	for i := range 1000 {
		stack := deepStack(p, 30)
		stack[0] = p.line(fmt.Sprintf("example.com/shop/internal/orders.leaf%03d", i/2), i)
		stack[10] = p.line(fmt.Sprintf("example.com/shop/internal/orders.middle%d", i%7), i)
		stacks = append(stacks, stack)
	}
	span := func(key any) profile.SampleContext {
		return profile.SampleContext{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1, byte(key.(int) >> 8), byte(key.(int))}, SpanName: "GET /orders"}
	}
	for i, stack := range stacks {
		b.Add(stack, profile.Sample{ContextID: b.Context(i%500, span), Count: 1, Weight: 10 * time.Millisecond})
	}
	tr := b.Trace(nil)
	once := tr.Samples
	tr.Samples = make([]profile.Sample, n)
	for i := range tr.Samples {
		tr.Samples[i] = once[i%len(once)]
		tr.Samples[i].Timestamp = time.Duration(i) * 10 * time.Millisecond
	}
	return tr
}

// The memory of a writer depends on the program and its spans, not on the samples.
func TestLargeTracesAllocs(t *testing.T) {
	tr := largeTrace(1_000_000)
	size := int64(len(tr.Samples)) * int64(unsafe.Sizeof(profile.Sample{}))
	for _, c := range []struct {
		name  string
		write func(io.Writer) error
		share int64 // of the trace's own size
	}{{"JSON", tr.WriteJSON, 100}, {"pprof", tr.WritePprof, 8}} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := c.write(io.Discard); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			got := int64(after.TotalAlloc - before.TotalAlloc)
			t.Logf("%d bytes for a trace of %d", got, size)
			if got > size/c.share {
				t.Errorf("it allocated %d bytes for a trace of %d, want at most 1/%d of that", got, size, c.share)
			}
		})
	}
}

func BenchmarkWriters(b *testing.B) {
	tr := largeTrace(100_000)
	for name, write := range map[string]func(io.Writer) error{"JSON": tr.WriteJSON, "pprof": tr.WritePprof} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var w byteCounter
			for b.Loop() {
				w = 0
				if err := write(&w); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(w))
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tr.Samples)), "ns/sample")
		})
	}
}

type byteCounter int64

func (c *byteCounter) Write(p []byte) (int, error) {
	*c += byteCounter(len(p))
	return len(p), nil
}

func BenchmarkSelect(b *testing.B) {
	tr := largeTrace(100_000)
	ids := slices.Clone(tr.Contexts)
	for b.Loop() {
		tr.OfSpan(ids[7].SpanID)
	}
}

//go:build !race

package otlpprofiles

import (
	"fmt"
	"slices"
	"testing"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/continuous"
	"github.com/perfline/perfline/profiling/profile"
)

// busy is a CPU profile as a busy service's: 3000 samples of 100 stacks for 100 requests.
func busy() continuous.CPU {
	b := profile.NewBuilder(nil)
	var calls []*profile.Call
	for i := range 400 {
		calls = append(calls, &profile.Call{Name: fmt.Sprintf("example.com/shop/internal/pkg%d.(*Type).method%d", i%40, i), File: fmt.Sprintf("/src/shop/internal/pkg%d/file%d.go", i%40, i%80), StartLine: i, Line: i + 5})
	}
	for i := range 3000 {
		context := profile.None
		if i%3 > 0 {
			context = b.Context(i%100, func(any) profile.SampleContext {
				return profile.SampleContext{TraceID: trace.TraceID{1, byte(i % 100)}, SpanID: trace.SpanID{2, byte(i % 100)}, SpanName: fmt.Sprintf("GET /route%d", i%10)}
			})
		}
		// Two innermost functions of 200, eight of one of 20 routes, and 20 of the server, as in a real service.
		leaf, route := 2*(i%100), 200+8*(i%20)
		stack := slices.Concat(calls[leaf:leaf+2], calls[route:route+8], calls[370:390])
		b.Add(stack, profile.Sample{Timestamp: time.Duration(i) * 5 * time.Millisecond, ContextID: context, Weight: 10 * time.Millisecond})
	}
	t := b.Trace(nil)
	t.Engine, t.Interval, t.Stopped = profile.EngineCPU, 10*time.Millisecond, 15*time.Second
	return continuous.CPU{Trace: t, Factor: 1.1, End: time.Unix(1_000_000, 0)}
}

// A CPU profile costs one allocation for the request and one for the attributes of each span.
func TestEncoderAllocations(t *testing.T) {
	c, e := busy(), newEncoder(shop(), thisProgram())
	send := func(request) {}
	e.cpu(c, send)
	contexts := len(c.Trace.Contexts)
	if got := testing.AllocsPerRun(20, func() { e.cpu(c, send) }); got > float64(contexts+3) {
		t.Errorf("%v allocations of a profile with %d contexts, want one for each and 3", got, contexts)
	}
}

// largeProfile is a CPU profile of so many samples of one function.
func largeProfile(samples int) continuous.CPU {
	b := profile.NewBuilder(nil)
	work := []*profile.Call{{Name: "main.work", File: "main.go", Line: 1}}
	for i := range samples {
		b.Add(work, profile.Sample{Timestamp: time.Duration(i) * time.Microsecond, ContextID: profile.None, Weight: 10 * time.Millisecond})
	}
	tr := b.Trace(nil)
	tr.Engine, tr.Stopped = profile.EngineCPU, time.Second
	return continuous.CPU{Trace: tr, Factor: 1, End: time.Unix(1_000_000, 0)}
}

// A large profile leaves little memory behind: the encoder gives up its own.
func TestEncoderAllocAfterLargeProfile(t *testing.T) {
	e := newEncoder(shop(), thisProgram())
	e.cpu(largeProfile(200_000), func(request) {})
	if left := cap(e.observed)*int(unsafe.Sizeof(observation{})) + cap(e.order)*4 + cap(e.profiles) + cap(e.sums)*8; left > keepBytes {
		t.Errorf("%d bytes are left of a large profile, want %d or less", left, keepBytes)
	}
}

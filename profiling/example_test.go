package profiling_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/perfline/perfline/profiling"
)

func ExampleStart() {
	p, err := profiling.Start(context.Background(), profiling.Options{
		SampleInterval: 10 * time.Millisecond,
		MaxBufferSize:  10_000,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	func() { // the work; to have a sample for certain it takes one
		profiling.ForceSample()
	}()
	trace, err := p.Stop()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range trace.Samples {
		for call := range trace.Calls(s) { // innermost first
			if strings.Contains(call.Name, ".ExampleStart") {
				fmt.Println(call.Name, filepath.Base(call.File))
			}
		}
	}
	// Output:
	// github.com/perfline/perfline/profiling_test.ExampleStart.func1 example_test.go
	// github.com/perfline/perfline/profiling_test.ExampleStart example_test.go
}

// The spans of the SDK's provider label goroutines for a profiler that is not perfline's.
func ExampleWrapTracerProvider() {
	provider := sdktrace.NewTracerProvider()
	tracer := profiling.WrapTracerProvider(provider).Tracer("shop")
	release := profiling.HoldLabels(profiling.EverySpan) // as a Profiler does by itself
	defer release()

	ctx, span := tracer.Start(context.Background(), "GET /search")
	defer span.End()
	name, _ := pprof.Label(ctx, "span_name")
	fmt.Println(name)
	// Output: GET /search
}

// Workers were there before the requests that they work for: Do tells the profiler
// whose time it is.
func ExampleDo() {
	type job struct {
		ctx context.Context // with the span of the request
		run func(context.Context)
	}
	jobs, done := make(chan job), make(chan struct{})
	go func() {
		defer close(done)
		for j := range jobs {
			profiling.Do(j.ctx, j.run)
		}
	}()
	jobs <- job{context.Background(), func(context.Context) { fmt.Println("rendered") }}
	close(jobs)
	<-done
	// Output: rendered
}

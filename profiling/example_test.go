package profiling_test

import (
	"context"
	"fmt"

	"github.com/perfline/perfline/profiling"
)

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

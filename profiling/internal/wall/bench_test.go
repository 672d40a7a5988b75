package wall

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// The cost of a tick by the number of goroutines, which wait at ten depths.
func BenchmarkTick(b *testing.B) {
	for _, n := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var wg sync.WaitGroup
			wake := make(chan struct{})
			for i := range n {
				wg.Go(func() { deep(10+i%10, wake) })
			}
			e := start(b, time.Millisecond)
			emit := func(*sampling.Sample) {}
			b.ReportAllocs()
			before := pauses()
			for b.Loop() {
				if err := e.Tick(emit); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(pauses().since(before).Seconds()*1e9, "ns/pause")
			close(wake)
			wg.Wait()
		})
	}
}

// stopped is how often the world was stopped, but for the garbage collector, and
// how long in all.
type stopped struct {
	times uint64
	long  float64 // seconds, by the middle of the runtime's buckets
}

func pauses() stopped {
	sample := []metrics.Sample{{Name: "/sched/pauses/total/other:seconds"}}
	metrics.Read(sample)
	var all stopped
	h := sample[0].Value.Float64Histogram()
	for i, n := range h.Counts {
		if n > 0 {
			all.times += n
			all.long += float64(n) * (h.Buckets[i] + h.Buckets[i+1]) / 2
		}
	}
	return all
}

// since is the mean length of the stops since before.
func (s stopped) since(before stopped) time.Duration {
	return time.Duration((s.long - before.long) / float64(s.times-before.times) * 1e9)
}

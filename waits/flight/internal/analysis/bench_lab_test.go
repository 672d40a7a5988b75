//go:build lab

package analysis_test

import (
	"bytes"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	xtrace "golang.org/x/exp/trace"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/waits/flight/internal/analysis"
)

// busyTrace returns an execution trace of about 10 MB: requests of eight goroutines, which switch
// goroutines often. The small request is in the middle. The whole request has all of them.
func busyTrace(b *testing.B) (data []byte, small, whole analysis.Root) {
	var mu sync.Mutex
	r := &recorder{judge: b}
	var requests []*request
	r.trace(func() {
		all := start("GET /all")
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for range 2000 {
					x := do("GET /", func() {
						jobs, results := make(chan int), make(chan int)
						go func() {
							for j := range jobs {
								results <- j
							}
							close(results)
						}()
						for j := range 10 {
							jobs <- j
							<-results
						}
						close(jobs)
						<-results
					})
					mu.Lock()
					requests = append(requests, x)
					mu.Unlock()
				}
			})
		}
		clients.Wait()
		all.end()
		r.want(requests[len(requests)/2], all)
	})
	return r.data, r.roots[0].wanted(), r.roots[1].wanted()
}

// BenchmarkRead measures the whole of Read. One case is a request in the middle; the other one is a
// request that takes all of the trace, so that nothing can be left out.
func BenchmarkRead(b *testing.B) {
	data, small, whole := busyTrace(b)
	n := count(b, data)
	b.Logf("%d bytes, %d events", len(data), n)
	for _, c := range []struct {
		name   string
		wanted analysis.Root
	}{{"one", small}, {"whole", whole}} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			var last, longest time.Duration
			var base, peak uint64
			heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			used := cputime.Process()
			for b.Loop() {
				runtime.GC()
				metrics.Read(heap)
				base = heap[0].Value.Uint64()
				last = cputime.Thread()
				requests, _, err := analysis.Read(bytes.NewReader(data), []analysis.Root{c.wanted}, own, func() {
					now := cputime.Thread()
					longest = max(longest, now-last)
					metrics.Read(heap)
					peak = max(peak, heap[0].Value.Uint64()-base)
					last = cputime.Thread()
				})
				if err != nil || len(requests) != 1 {
					b.Fatal(len(requests), err)
				}
			}
			used = cputime.Process() - used
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
			b.ReportMetric(float64(used.Milliseconds())/float64(b.N)*10e6/float64(len(data)), "cpu-ms/10MB")
			b.ReportMetric(float64(peak)/1e6, "peak-MB")
			b.ReportMetric(float64(longest.Microseconds()), "µs/longest-slice")
		})
	}
	b.Run("decoder", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		used := cputime.Process()
		for b.Loop() {
			count(b, data)
		}
		used = cputime.Process() - used
		b.ReportMetric(float64(used.Milliseconds())/float64(b.N)*10e6/float64(len(data)), "cpu-ms/10MB")
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
	})
}

func count(b *testing.B, data []byte) (n int) {
	events(b, data, func(*xtrace.Event) { n++ })
	return n
}

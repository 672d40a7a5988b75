//go:build lab

package analysis_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perfline/perfline/internal/cputime"
	"github.com/perfline/perfline/internal/tracelog"
)

var _ = add(map[string]func(*recorder){
	"timer": func(r *recorder) { r.trace(func() { r.want(do("GET /", rest)) }) },
	"network": func(r *recorder) {
		client, server := r.connect()
		defer client.Close()
		defer server.Close()
		r.trace(func() {
			go func() {
				time.Sleep(long)
				_, _ = server.Write([]byte{1})
			}()
			r.want(do("GET /", func() { pay(client) }))
		})
	},
	"pipe": func(r *recorder) {
		reader, writer, err := os.Pipe()
		if err != nil {
			r.Fatalf("%v", err)
		}
		defer reader.Close()
		defer writer.Close()
		r.trace(func() {
			go func() {
				time.Sleep(long)
				_, _ = writer.Write([]byte{1})
			}()
			r.want(do("GET /", func() { readPipe(reader) }))
		})
	},
	"processor": func(r *recorder) { r.traceOnly(func() { r.want(do("GET /", burn)) }) },
	"processor-sampled": func(r *recorder) {
		if err := pprof.StartCPUProfile(io.Discard); err != nil {
			r.Fatalf("%v", err)
		}
		defer pprof.StopCPUProfile()
		r.traceOnly(func() { r.want(do("GET /", burn)) })
	},
	"processor-unseen": func(r *recorder) {
		r.trace(func() { r.want(startsHere()) })
	},
	"processors-taken": processorsTaken,
	"processor-free":   processorFree,
	"other-programs":   func(r *recorder) { lacking(r, cputime.Usage{Delayed: time.Hour}) },
	"cpu-limit":        func(r *recorder) { lacking(r, cputime.Usage{Throttled: time.Hour, Limit: 0.5, Delayed: time.Hour}) },
	"not-run":          func(r *recorder) { lacking(r, cputime.Usage{}) },
	"collection": func(r *recorder) {
		list := nodes()
		r.traceOnly(func() { r.want(do("GET /", runtime.GC)) })
		runtime.KeepAlive(list)
	},
	"collection-processors": func(r *recorder) {
		r.others = true
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		list := nodes()
		r.traceOnly(func() {
			done := make(chan bool)
			go func() {
				runtime.GC()
				close(done)
			}()
			// The collector uses a quarter of the one processor at least.
			r.want(do("GET /", func() {
				for range 100 {
					runtime.Gosched()
				}
			}))
			<-done
		})
		runtime.KeepAlive(list)
	},
	"collection-help": func(r *recorder) {
		defer debug.SetGCPercent(debug.SetGCPercent(1))
		list := nodes()
		r.traceOnly(func() { r.want(do("GET /", func() { litter(list) })) })
	},
	"stop-the-world": func(r *recorder) { r.trace(func() { r.want(do("GET /", readStats)) }) },
})

// lacking records a request that burns a processor, of which the process got a millisecond by its notes. more is what
// the operating system did meanwhile.
func lacking(r *recorder, more cputime.Usage) {
	r.others = true
	r.traceOnly(func() {
		used := cputime.Usage{Process: time.Second}
		tracelog.CPU(used)
		x := do("GET /", burn)
		more.Process = used.Process + time.Millisecond
		tracelog.CPU(more)
		r.want(x)
	})
}

//go:noinline
func rest() { time.Sleep(long) }

// connect returns both ends of a connection.
func (r *recorder) connect() (client, server net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.Fatalf("%v", err)
	}
	defer listener.Close()
	if client, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		r.Fatalf("%v", err)
	}
	if server, err = listener.Accept(); err != nil {
		r.Fatalf("%v", err)
	}
	return client, server
}

//go:noinline
func readPipe(f *os.File) { _, _ = f.Read(make([]byte, 1)) }

//go:noinline
func pay(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }

var sink atomic.Uint64

// burn uses a processor for a fixed amount of work.
//
//go:noinline
func burn() { sink.Add(hash(30_000_000)) }

func hash(n uint64) (h uint64) {
	for i := range n {
		h = h*31 + i
	}
	return h
}

//go:noinline
func startsHere() *request {
	r := start("GET /")
	endsInside(r)
	return r
}

//go:noinline
func endsInside(r *request) {
	sink.Add(hash(100_000))
	r.end()
}

func processorsTaken(r *recorder) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	r.traceOnly(func() {
		var others sync.WaitGroup
		var stop atomic.Bool
		for range 2 {
			others.Go(func() {
				do("GET /report", func() {
					for !stop.Load() {
						sink.Add(hash(1_000_000))
					}
				})
			})
		}
		// Whenever this request gives the processor away, the others have it until the runtime
		// preempts them.
		r.want(do("GET /", func() {
			runtime.Gosched()
			sink.Add(hash(100_000))
		}))
		stop.Store(true)
		others.Wait()
	})
}

// processorFree has two goroutines that wake each other. Each has a thread of its own, which the
// kernel has to run, while busy programs have the machine's processors.
func processorFree(r *recorder) {
	r.others = true
	for range 2 * runtime.NumCPU() {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			r.Fatalf("%v", err)
		}
		defer func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		}()
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	r.trace(func() {
		there, back := make(chan int), make(chan int)
		go func() {
			runtime.LockOSThread()
			for x := range there {
				back <- x
			}
		}()
		r.want(do("GET /", func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for range 3 {
				there <- 1
				<-back
			}
		}))
		close(there)
	})
}

type node struct {
	next *node
	_    [3]uintptr
}

func nodes() []*node {
	list := make([]*node, 20_000)
	for i := range list {
		list[i] = new(node)
	}
	return list
}

// litter replaces nodes of a list until the garbage collector has run once more.
//
//go:noinline
func litter(list []*node) {
	cycles := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(cycles)
	for end := cycles[0].Value.Uint64() + 2; cycles[0].Value.Uint64() < end; metrics.Read(cycles) {
		for i := range 1000 {
			list[i] = &node{next: list[i+1]}
		}
	}
}

//go:noinline
func readStats() {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
}

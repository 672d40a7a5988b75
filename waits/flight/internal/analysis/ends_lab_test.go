//go:build lab && unix

package analysis_test

import (
	"context"
	rt "runtime/trace"
	"sync"
	"syscall"
	"time"
)

var _ = add(map[string]func(*recorder){
	"before-trace": func(r *recorder) {
		x := start("GET /")
		rest()
		r.trace(func() {
			rest()
			x.end()
		})
		r.want(x)
	},
	"before-trace-waits": func(r *recorder) {
		beforeTraceWaits(r, func(f func()) { r.trace(f) })
	},
	"before-trace-stacks": func(r *recorder) {
		beforeTraceWaits(r, func(f func()) {
			r.fly(rt.FlightRecorderConfig{MinAge: time.Minute}, func(generation func()) {
				generation()
				f()
			})
		})
	},
	"unended": func(r *recorder) {
		var x *request
		r.trace(func() {
			x = start("GET /")
			rest()
		})
		r.want(x)
		x.end()
	},
	"unended-waits": unendedWaits,
	"late-start": func(r *recorder) {
		r.trace(func() {
			x := startAfter("GET /", rest)
			rest()
			rest()
			x.end()
			r.want(x)
		})
	},
	"late-end": func(r *recorder) {
		r.trace(func() {
			x := start("GET /")
			rest()
			rest()
			x.endAfter(rest)
			r.want(x)
		})
	},
	"long": func(r *recorder) {
		r.trace(func() {
			x := start("GET /")
			for range 3 {
				rest()
				time.Sleep(time.Second / 3)
			}
			rest()
			x.end()
			r.want(x)
		})
	},
})

// A blocker blocks a goroutine in one kind of wait.
type blocker struct {
	name           string
	block, release func()
}

// blockers returns one for each kind that goroutines end, and a sleep. The caller calls close when
// all are released.
func (r *recorder) blockers() (all []blocker, closed func()) {
	received, sent, selected := make(chan int), make(chan int), make(chan int)
	var x index
	x.mu.Lock()
	var group sync.WaitGroup
	group.Add(1)
	condition := sync.NewCond(&sync.Mutex{})
	db := database(func() {})
	taken, err := db.Conn(context.Background())
	if err != nil {
		r.Fatalf("%v", err)
	}
	client, server := r.connect()
	reads, writes := r.pipe()
	return []blocker{
			{"receive", func() { receive(received) }, func() { received <- 1 }},
			{"send", func() { send(sent) }, func() { <-sent }},
			{"select", func() { selectOf(selected) }, func() { selected <- 1 }},
			{"mutex", x.lookUp, x.mu.Unlock},
			{"WaitGroup", func() { wait(&group) }, group.Done},
			{"condition", func() { await(condition) }, func() {
				condition.L.Lock()
				condition.Signal()
				condition.L.Unlock()
			}},
			{"pool", func() { query(db, func() {}) }, func() { _ = taken.Close() }},
			{"network", func() { pay(client) }, func() { _, _ = server.Write([]byte{1}) }},
			{"sleep", func() { time.Sleep(4 * long) }, func() {}},
			{"system call", func() { flush(reads) }, func() { _, _ = syscall.Write(writes, []byte{1}) }},
		}, func() {
			_ = db.Close()
			_ = client.Close()
			_ = server.Close()
			_ = syscall.Close(reads)
			_ = syscall.Close(writes)
		}
}

//go:noinline
func wait(group *sync.WaitGroup) { group.Wait() }

// blockIn begins a request that waits, on a goroutine of its own.
func (b *blocker) blockIn(all *sync.WaitGroup) *request {
	started := make(chan *request)
	all.Go(func() {
		x := start(b.name)
		started <- x
		b.block()
		x.end()
	})
	return <-started
}

func beforeTraceWaits(r *recorder, trace func(func())) {
	blockers, closed := r.blockers()
	defer closed()
	var all sync.WaitGroup
	var requests []*request
	for i := range blockers {
		requests = append(requests, blockers[i].blockIn(&all))
	}
	time.Sleep(long) // until all wait
	trace(func() {
		time.Sleep(long)
		for i := range blockers {
			blockers[i].release()
		}
		all.Wait()
	})
	r.want(requests...)
}

func unendedWaits(r *recorder) {
	blockers, closed := r.blockers()
	defer closed()
	var all, never sync.WaitGroup
	r.trace(func() {
		for i := range blockers {
			r.want(blockers[i].blockIn(&all))
		}
		forever := blocker{name: "forever", block: func() { select {} }}
		r.want(forever.blockIn(&never)) // its goroutine stays
		time.Sleep(long)
	})
	for i := range blockers {
		blockers[i].release()
	}
	all.Wait()
}

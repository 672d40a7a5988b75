//go:build lab

package analysis_test

import (
	rt "runtime/trace"
	"time"
)

var _ = add(map[string]func(*recorder){
	"generations": func(r *recorder) {
		jobs, results := make(chan func()), make(chan int)
		go work(jobs, results) // waits since before the trace
		defer close(jobs)
		r.fly(rt.FlightRecorderConfig{MinAge: time.Minute}, func(generation func()) {
			run := func(name string) *request {
				time.Sleep(long / 4) // until the worker waits
				return do(name, func() {
					jobs <- func() {
						generation()
						rest()
						generation()
					}
					receive(results)
				})
			}
			run("GET /0") // the trace does not tell where the worker waits before
			r.want(run("GET /1"), run("GET /2"))
		})
	},
	"lost-generations": func(r *recorder) {
		r.fly(rt.FlightRecorderConfig{MinAge: time.Nanosecond, MaxBytes: 1}, func(generation func()) {
			x := start("GET /")
			locked, done := make(chan bool), make(chan bool)
			var lock index
			go do("GET /search", func() {
				lock.hold(locked, generation)
				close(done)
			})
			<-locked
			lock.lookUp()
			<-done
			x.end()
			r.want(x)
		})
	},
	"several": func(r *recorder) {
		r.trace(func() { r.want(do("GET /1", rest), do("GET /2", rest), do("GET /3", rest)) })
	},
})

// hold holds the mutex for several generations of the trace.
//
//go:noinline
func (x *index) hold(locked chan<- bool, generation func()) {
	x.mu.Lock()
	close(locked)
	for range 4 {
		time.Sleep(long / 4)
		generation()
	}
	time.Sleep(long)
	x.mu.Unlock()
}

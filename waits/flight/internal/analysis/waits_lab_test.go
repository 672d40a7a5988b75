//go:build lab

package analysis_test

import (
	"context"
	"iter"
	"sync"
	"time"
)

var _ = add(map[string]func(*recorder){
	"wait-group": func(r *recorder) { r.trace(func() { r.want(do("GET /", fanOut)) }) },
	"chain": func(r *recorder) {
		r.traceOnly(func() {
			first, second := make(chan int), make(chan int)
			go do("GET /slow", func() {
				time.Sleep(long / 4) // until the others wait
				burn()
				first <- 1
			})
			go func() { second <- <-first }()
			r.want(do("GET /", func() { receive(second) }))
		})
	},
	"channel-send": func(r *recorder) {
		r.trace(func() {
			c := make(chan int)
			go do("GET /feed", func() { drain(c) })
			r.want(do("GET /", func() { send(c) }))
		})
	},
	"select": func(r *recorder) {
		r.trace(func() {
			r.want(do("GET /", func() {
				c := make(chan int)
				go func() {
					rest()
					c <- 1
				}()
				selectOf(c)
			}))
		})
	},
	"select-timer": func(r *recorder) { r.trace(func() { r.want(do("GET /", selectTimer)) }) },
	"after-func": func(r *recorder) {
		r.trace(func() {
			r.want(do("GET /", func() {
				done := make(chan int)
				time.AfterFunc(long, func() { close(done) })
				receive(done)
			}))
		})
	},
	"deadline": func(r *recorder) {
		r.trace(func() {
			ctx, cancel := context.WithTimeout(context.Background(), long)
			defer cancel()
			r.want(do("GET /", func() { awaitAny(ctx, nil) }))
		})
	},
	"deadline-afterwards": func(r *recorder) {
		r.trace(func() {
			ctx, cancel := context.WithTimeout(context.Background(), long)
			defer cancel()
			r.want(do("GET /", func() {
				ended := make(chan int)
				context.AfterFunc(ctx, func() { close(ended) })
				awaitAny(context.Background(), ended)
			}))
		})
	},
	"condition": func(r *recorder) {
		r.trace(func() {
			c := sync.NewCond(&sync.Mutex{})
			go func() {
				rest()
				c.L.Lock()
				c.Signal()
				c.L.Unlock()
			}()
			r.want(do("GET /", func() { await(c) }))
		})
	},
	"channel-closed": func(r *recorder) {
		r.trace(func() {
			c := make(chan int)
			go do("GET /feed", func() { shut(c) })
			r.want(do("GET /", func() {
				defer func() { _ = recover() }() // of the send
				send(c)
			}))
		})
	},
	"coroutine": func(r *recorder) {
		r.trace(func() {
			r.want(do("GET /", func() {
				next, stop := iter.Pull(func(yield func(int) bool) {
					rest()
					yield(1)
				})
				next()
				stop()
			}))
		})
	},
	"creator": func(r *recorder) {
		r.trace(func() {
			r.want(do("GET /", func() {
				done := make(chan int)
				late(done)
				receive(done)
			}))
		})
	},
	"two-causes": func(r *recorder) {
		r.trace(func() {
			var x index
			locked := make(chan bool)
			go do("GET /search", func() { x.rebuild(locked) })
			<-locked
			r.want(do("GET /", func() { lookUpAndRest(&x) }))
		})
	},
})

//go:noinline
func fanOut() {
	var children sync.WaitGroup
	for range 3 {
		children.Go(rest)
	}
	children.Wait()
}

// awaitAny waits for the end of the context or for the channel.
//
//go:noinline
func awaitAny(ctx context.Context, c <-chan int) {
	select {
	case <-ctx.Done():
	case <-c:
	}
}

//go:noinline
func receive(c <-chan int) { <-c }

//go:noinline
func send(c chan<- int) { c <- 1 }

//go:noinline
func drain(c <-chan int) {
	time.Sleep(long)
	<-c
}

//go:noinline
func shut(c chan int) {
	time.Sleep(long)
	close(c)
}

//go:noinline
func selectOf(c <-chan int) {
	select {
	case <-c:
	case <-make(chan int):
	}
}

//go:noinline
func selectTimer() {
	select {
	case <-time.After(long):
	case <-make(chan int):
	}
}

//go:noinline
func await(c *sync.Cond) {
	c.L.Lock()
	c.Wait()
	c.L.Unlock()
}

// late starts a goroutine that starts another one, which answers.
//
//go:noinline
func late(done chan<- int) {
	go func() {
		rest()
		go func() {
			rest()
			done <- 1
		}()
	}()
}

//go:noinline
func lookUpAndRest(x *index) {
	x.lookUp()
	time.Sleep(3 * long)
}

// elsewhere calls f on another goroutine, and waits for it.
func elsewhere(f func()) {
	done := make(chan int)
	go func() {
		f()
		done <- 1
	}()
	receive(done)
}

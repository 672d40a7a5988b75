package main

import (
	"context"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/perfline/perfline/marks"
)

const (
	// of a service under pressure: some hundred MB that the collector has to look through
	liveNodes = 3 << 20
	pressure  = 4 // GOGC of it
)

// A cache has much live memory if the service is to be under pressure. Then a goroutine that
// allocates has to help the collector most of the time.
type cache struct {
	live []*node
	last *node
}

type node struct {
	next *node
	_    [5]uint64 // a value
}

func newCache(live bool) *cache {
	c := new(cache)
	if !live {
		return c
	}
	debug.SetGCPercent(-1)
	c.live = make([]*node, liveNodes)
	for i := range c.live {
		c.live[i] = &node{next: c.live[i/2]}
	}
	runtime.GC()
	debug.SetGCPercent(pressure)
	return c
}

// fill allocates.
func (c *cache) fill(ctx context.Context, takes time.Duration) error {
	defer marks.Time(ctx, "cache.fill").End()
	c.replace(time.Now().Add(takes))
	return nil
}

//go:noinline
func (c *cache) replace(until time.Time) {
	for time.Now().Before(until) {
		for range 100 {
			c.last = &node{next: c.live[0]}
		}
	}
}

package faulttest

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/perfline/perfline/internal/memnet"
)

// RunCrowd adds items on eight goroutines, faster than a receiver can accept the items. size is the
// default size of the queue.
func RunCrowd(t *testing.T, s Signal, size int) {
	t.Helper()
	const goroutines, each = 8, 2500
	for _, protocol := range protocols {
		for _, size := range []int{size, goroutines * each} {
			t.Run(fmt.Sprintf("%s, queue of %d", protocol, size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s.crowd(t, protocol, size, goroutines,
						each)
				})
			})
		}
	}
}

func (s Signal) crowd(t *testing.T, protocol string, size, goroutines, each int) {
	r := serve(t, s, protocol, fault{}, new(memnet.Network))
	log := newLog(s)
	d := s.start(t, r, Config{QueueSize: size, Logger: log.logger()})
	var workers sync.WaitGroup
	for g := range goroutines {
		workers.Go(func() {
			for i := range each {
				d.Add(fmt.Sprint(g, "/", i))
				if i%20 == 0 && !audit(t, d, r, size) {
					return
				}
			}
		})
	}
	workers.Wait()
	_ = d.ForceFlush(t.Context())
	if err := d.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	b := d.Stats()
	if b.Accepted != uint64(goroutines*each) || b.Delivered+b.Dropped != b.Accepted ||
		b.Delivered != uint64(r.taken()) || b.Delivered == 0 {
		t.Errorf("%d arrived: %+v", r.taken(), b)
	}
	if b.Dropped > 0 {
		log.wants(t, "ITEMS are dropped because the queue is full")
	}
	log.isOver(t)
	if size == goroutines*each && b.Dropped > 0 {
		t.Errorf("%d were dropped of a queue that has room for all", b.Dropped)
	}
}

package faulttest

import (
	"sync"
	"testing"
	"time"
)

// audited reads the books now and then, and with each request, until the returned function is
// called. They must balance at every read, and the receiver must have the items that they call
// delivered.
func audited(t *testing.T, d Delivery, r *receiver, size int) (end func()) {
	done := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for audit(t, d, r, size) {
			select {
			case <-done:
				return
			case <-r.arrived:
			case <-tick.C:
			}
		}
	})
	end = sync.OnceFunc(func() {
		close(done)
		reading.Wait()
	})
	t.Cleanup(end)
	return end
}

// audit reads the books once, and reports whether they are right.
func audit(t *testing.T, d Delivery, r *receiver, size int) bool {
	b := d.Stats()
	if b.Accepted != b.Delivered+b.Failed+b.Dropped+b.Pending || b.Pending > uint64(size) ||
		b.PendingBytes < 0 || b.Unanswered > b.Failed {
		t.Errorf("the books do not balance: %+v", b)
		return false
	}
	if taken := r.taken(); b.Delivered > uint64(taken) {
		t.Errorf("%d items arrived: %+v", taken, b)
		return false
	}
	return true
}

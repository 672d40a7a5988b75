package timeline_test

import (
	"runtime"
	"testing"
	"time"
)

// freed has an element for each object that the garbage collector has freed.
type freed chan struct{}

// watchFreed sends to the channel when the object is freed. The channel has room for all objects.
func watchFreed[T any](to freed, object *T) {
	runtime.AddCleanup(object, func(to freed) { to <- struct{}{} }, to)
}

// wait collects garbage until n objects are freed. It fails the test where some are retained.
func (f freed) wait(t *testing.T, n int) {
	t.Helper()
	end := time.After(time.Minute) // each of the collections until then would free them
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	runtime.GC()
	for got := 0; got < n; {
		select {
		case <-f:
			got++
		case <-again.C: // a goroutine that had an object until now has returned, perhaps
			runtime.GC()
		case <-end:
			t.Errorf("%d of %d objects were freed", got, n)
			return
		}
	}
}

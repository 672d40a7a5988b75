// Package garbage reports to tests whether the garbage collector frees objects.
//
//	var objects garbage.Objects
//	garbage.Watch(&objects, "request", request)
//	…
//	objects.Wait(t)
//
// The result of such a test is the same on each machine. The size of the heap depends on all
// goroutines of the process.
package garbage

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

// hang is the time after which an object counts as retained. Each of the collections meanwhile
// would free it.
const hang = time.Minute

// Objects contains the objects that a test watches. The zero value contains no objects. Do not wait
// for objects in a bubble of testing/synctest. The runtime runs cleanups outside the bubble, and
// the bubble's clock stands still.
type Objects struct {
	mu    sync.Mutex
	left  map[string]int // by name, those that are not freed
	freed chan struct{}  // made by the first WaitFor; has an element when objects were freed since
}

// Watch adds an object to o. Several objects may use the same name. The object must occupy at least
// 16 bytes or contain a pointer, because the runtime frees smaller objects together.
func Watch[T any](o *Objects, name string, object *T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left == nil {
		o.left = map[string]int{}
	}
	o.left[name]++
	runtime.AddCleanup(object, o.free, name)
}

// WatchText adds the memory of a text to o. The text must not be a constant, and must occupy at
// least 16 bytes.
func WatchText(o *Objects, name, text string) { Watch(o, name, unsafe.StringData(text)) }

func (o *Objects) free(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left[name]--; o.left[name] == 0 {
		delete(o.left, name)
	}
	select {
	case o.freed <- struct{}{}:
	default: // nobody waits, or knows already
	}
}

// Left returns the number of objects that the runtime has not freed. An object counts as freed
// after the runtime has run the object's cleanup.
func (o *Objects) Left() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, some := range o.left {
		n += some
	}
	return n
}

// Wait collects garbage until all objects are freed. Wait fails the test if objects remain after a
// minute.
func (o *Objects) Wait(t testing.TB) {
	t.Helper()
	o.WaitFor(t, 0)
}

// WaitFor collects garbage until at most n objects remain. WaitFor fails the test if more objects
// remain after a minute.
func (o *Objects) WaitFor(t testing.TB, n int) {
	t.Helper()
	o.mu.Lock()
	if o.freed == nil {
		o.freed = make(chan struct{}, 1)
	}
	o.mu.Unlock()
	end := time.NewTimer(hang)
	defer end.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for o.Left() > n {
		runtime.GC()
		select {
		case <-o.freed:
		case <-again.C: // a goroutine that had the object until now has returned, perhaps
		case <-end.C:
			t.Fatalf("%s still in memory, want %d", o, n)
		}
	}
}

// String returns the numbers and the names of the objects that are not freed.
func (o *Objects) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.left)) {
		all = append(all, fmt.Sprintf("%d × %s", o.left[name], name))
	}
	return strings.Join(all, ", ")
}

// Heap collects garbage, and returns the size of the remaining objects on the heap, in bytes. All
// goroutines of the process affect the size: compare only megabytes.
func Heap() int {
	var m runtime.MemStats
	for range 2 { // what sync.Pool has survives one
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // of this machine
}

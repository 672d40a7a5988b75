// Package garbage tells tests whether the garbage collector frees objects.
//
//	var objects garbage.Objects
//	garbage.Watch(&objects, "request", request)
//	…
//	objects.Wait(t)
//
// A test that asks whether an object is retained gets the same answer on each machine. The size of
// the heap depends on all goroutines of the process.
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

// Objects are the objects that a test watches. The zero Objects watches none. A test cannot wait
// for them in a bubble of testing/synctest: cleanups run outside of it, and time stands still.
type Objects struct {
	mu    sync.Mutex
	left  map[string]int // by name, those that are not freed
	freed chan struct{}  // made by the first WaitFor; has an element when objects were freed since
}

// Watch makes an object one of o's. Objects may have the same name. The object is at least 16 bytes
// or has a pointer, since the runtime frees smaller ones together.
func Watch[T any](o *Objects, name string, object *T) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.left == nil {
		o.left = map[string]int{}
	}
	o.left[name]++
	runtime.AddCleanup(object, o.free, name)
}

// WatchText makes the memory of a text one of o's objects. The text is not a constant, and has at
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

// Left returns how many objects are not freed, as far as the runtime has run cleanups.
func (o *Objects) Left() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, some := range o.left {
		n += some
	}
	return n
}

// Wait collects garbage until all objects are freed. It fails the test where some are retained.
func (o *Objects) Wait(t testing.TB) {
	t.Helper()
	o.WaitFor(t, 0)
}

// WaitFor collects garbage until at most n objects are left. It fails the test where more are
// retained.
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

// String names the objects that are not freed.
func (o *Objects) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(o.left)) {
		all = append(all, fmt.Sprintf("%d × %s", o.left[name], name))
	}
	return strings.Join(all, ", ")
}

// Heap returns how many bytes the objects of the heap take that are not garbage. It depends on all
// goroutines of the process: compare megabytes.
func Heap() int {
	var m runtime.MemStats
	for range 2 { // what sync.Pool has survives one
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc) //nolint:gosec // of this machine
}

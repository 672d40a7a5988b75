//go:build lab

package runtimestats_test

import (
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perfline/perfline/internal/runtimestats"
)

// A history with as many causes of losses as it counts apart has the memory that the package's comment says.
func TestLabMemoryOfAHistory(t *testing.T) {
	const most = 128 << 10
	least := math.MaxInt // of several tries: memory of other goroutines adds to some
	for range 3 {
		synctest.Test(t, func(*testing.T) {
			c := lossy()
			before := heap()
			h := runtimestats.Start(c)
			time.Sleep(10 * time.Minute)
			least = min(least, heap()-before)
			h.Stop()
		})
	}
	if least > most || least < most/2 {
		t.Errorf("a history takes %d bytes, want at most %d, and more than half of that", least, most)
	}
}

// heap returns the bytes of live objects.
func heap() int {
	runtime.GC()
	runtime.GC() // what the first one swept is free now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

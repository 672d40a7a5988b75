//go:build lab && !race

package otlpprofiles

import (
	"runtime"
	"testing"
)

// A large profile leaves little memory behind.
func TestLabMemoryAfterLargeProfile(t *testing.T) {
	const samples = 200_000
	large := largeProfile(samples)
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	e := newEncoder(shop(), thisProgram())
	before := heap()
	e.cpu(large, func(request) {})
	if left := heap() - before; left > keepBytes {
		t.Errorf("%d bytes are left of a profile with %d samples, want %d or less", left, samples, keepBytes)
	}
	runtime.KeepAlive(e)
	runtime.KeepAlive(large)
}

//go:build lab && !perfline_portable

package spanlabels_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"unsafe"

	"github.com/perfline/perfline/internal/spanlabels"
)

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The heap of a goroutine that begins spans that end in other places does not grow.
func TestLabHeapOfChains(t *testing.T) {
	for name, c := range chains() {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before := heap()
				c.check(t)
				if after, room := heap(), uint64(c.most+1000)*2*uint64(unsafe.Sizeof(spanlabels.Span{})); after > before+room {
					t.Errorf("the heap grew from %d to %d bytes, want at most %d more", before, after, room)
				}
			})
		})
	}
}

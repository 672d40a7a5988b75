package record

import (
	"runtime"
	"testing"
)

// A garbage collection forgets which part a processor has. There are no more parts than processors nevertheless.
func TestPartsAfterCollections(t *testing.T) {
	processors := min(runtime.GOMAXPROCS(0), maxParts)
	var p PerProcessor[int]
	for range 40 {
		*p.Near() = 1
		runtime.GC()
		runtime.GC() // a pool keeps what it has for one collection
	}
	if n := len(p.Used()); n > processors {
		t.Errorf("%d parts are used, want %d at most", n, processors)
	}
	for i := range p.parts {
		if used := i < len(p.Used()); p.parts[i] != 0 && !used {
			t.Errorf("Near returned part %d, and Used does not", i)
		}
	}
}

package record

import (
	"runtime"
	"slices"
	"testing"
)

// A garbage collection forgets which part a processor has. There are no more parts than processors nevertheless.
func TestPartsAfterCollections(t *testing.T) {
	processors := min(runtime.GOMAXPROCS(0), maxParts)
	var p PerProcessor[int]
	for range 40 {
		if part := p.Near(); !slices.Contains(slices.Collect(p.All()), part) {
			t.Error("Near returned a part that All does not have")
		}
		runtime.GC()
		runtime.GC() // a pool keeps what it has for one collection
	}
	if n := len(slices.Collect(p.All())); n > processors {
		t.Errorf("%d parts are used, want %d at most", n, processors)
	}
}

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
		part, used := p.Near(), p.Used()
		has := false
		for i := range used {
			has = has || &used[i] == part
		}
		if !has {
			t.Error("Near returned a part that Used does not have")
		}
		runtime.GC()
		runtime.GC() // a pool keeps what it has for one collection
	}
	if n := len(p.Used()); n > processors {
		t.Errorf("%d parts are used, want %d at most", n, processors)
	}
}

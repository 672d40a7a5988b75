package live_test

import (
	"runtime"
	"time"
)

// hiddenMarker is a function of a module that the policies of a test hide. Its file has nothing that is visible.
//
//go:noinline
func hiddenMarker(until func() bool) {
	for range 100 {
		markerSink = make([]byte, 1<<20)
	}
	x := uint64(1)
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end) || !until(); {
		for range 10_000 { // here, and not in burn: the innermost function has to be the marker
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	sink = x
	if hasLeakProfile() {
		leaked := make(chan struct{})
		go func() { // a function of this file, too
			close(leaked)
			<-make(chan struct{})
		}()
		<-leaked
	}
}

var markerSink []byte

func fileOfMarker() string {
	_, file, _, _ := runtime.Caller(0)
	return file
}

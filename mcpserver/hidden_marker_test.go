package mcpserver_test

import "time"

var sink uint64

// hiddenMarker is a function of a module that the policies of a test hide. Its file has nothing that is visible.
//
//go:noinline
func hiddenMarker() {
	x := uint64(1)
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); {
		for range 10_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	sink = x
}

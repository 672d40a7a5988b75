package bridgehttp

import (
	"strings"
	"testing"
	"unsafe"
)

// Cached exchanges hold no part of a URL or a request, which may be long.
func TestKeptExchangesPinNothing(t *testing.T) {
	long := strings.Repeat("x", 1000)
	given := exchange{method: long[:3], scheme: long[3:7], server: long[7:20], route: long[20:30], failure: long[30:40]}
	k, _ := newExchangeMetrics(given)
	for i, s := range []string{k.method, k.scheme, k.server, k.route, k.failure} {
		if from := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.StringData(long))); from < 1000 {
			t.Errorf("string %d is a part of what was given", i)
		}
	}
}

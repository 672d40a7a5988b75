package bridgehttp

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/perfline/perfline/bridge/internal/kinds"
)

// Kinds of exchanges are kept up to a bound; one that is kept is made once.
func TestExchangesAreBounded(t *testing.T) {
	e := exchanges{New: newKept}
	const many = kinds.Most + 100
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range many {
				x := exchange{method: "GET", route: strconv.Itoa(i)}
				if k := e.Get(x); len(k.outcome) != 1 || k.outcome[0].Value.AsString() != x.route {
					t.Errorf("route %s has %v", x.route, k.outcome)
				}
			}
		})
	}
	wg.Wait()
	if n := e.Len(); n != kinds.Most {
		t.Errorf("%d kinds are kept, want %d", n, kinds.Most)
	}
	kept := exchange{method: "GET", route: "0"}
	if first := e.Get(kept); e.Get(kept) != first {
		t.Error("what is kept was made twice")
	}
}

// What is kept is no part of a URL or a request, which may be long.
func TestKeptExchangesPinNothing(t *testing.T) {
	long := strings.Repeat("x", 1000)
	given := exchange{method: long[:3], scheme: long[3:7], server: long[7:20], route: long[20:30], failure: long[30:40]}
	k, _ := newKept(given)
	for i, s := range []string{k.method, k.scheme, k.server, k.route, k.failure} {
		if from := uintptr(unsafe.Pointer(unsafe.StringData(s))) - uintptr(unsafe.Pointer(unsafe.StringData(long))); from < 1000 {
			t.Errorf("string %d is a part of what was given", i)
		}
	}
}

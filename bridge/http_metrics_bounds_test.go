package bridge

import (
	"strconv"
	"sync"
	"testing"
)

// Kinds of exchanges are kept up to a bound; one that is kept is made once.
func TestExchangesAreBounded(t *testing.T) {
	var e exchanges
	const kinds = maxExchanges + 100
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range kinds {
				x := exchange{method: "GET", route: strconv.Itoa(i)}
				if k := e.get(x); len(k.outcome) != 1 || k.outcome[0].Value.AsString() != x.route {
					t.Errorf("route %s has %v", x.route, k.outcome)
				}
			}
		})
	}
	wg.Wait()
	if n := len(*e.known.Load()); n != maxExchanges {
		t.Errorf("%d kinds are kept, want %d", n, maxExchanges)
	}
	kept := exchange{method: "GET", route: "0"}
	if first := e.get(kept); e.get(kept) != first {
		t.Error("what is kept was made twice")
	}
}

package bridge

import (
	"strconv"
	"sync"
	"testing"

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

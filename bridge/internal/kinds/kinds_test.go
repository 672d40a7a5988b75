package kinds_test

import (
	"sync"
	"testing"

	"github.com/perfline/perfline/bridge/internal/kinds"
)

// A map keeps kinds up to a bound, and makes the value of a kind that it keeps once.
func TestKindsAreBounded(t *testing.T) {
	m := kinds.Map[int, *int]{New: func(k int) (int, *int) { return k, &k }}
	const many = kinds.Most + 100
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for k := range many {
				if got := *m.Get(k); got != k {
					t.Errorf("kind %d has the value of %d", k, got)
				}
			}
		})
	}
	wg.Wait()
	if n := m.Len(); n != kinds.Most {
		t.Errorf("%d kinds are kept, want %d", n, kinds.Most)
	}
	same := 0
	for k := range many {
		if first := m.Get(k); m.Get(k) == first {
			same++
		}
	}
	if same != kinds.Most {
		t.Errorf("%d kinds have one value each, want the %d that are kept", same, kinds.Most)
	}
}

package kinds_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/perfline/perfline/bridge/internal/kinds"
)

// A kindOf is a kind of requests, as bridgehttp has them.
type kindOf struct{ method, scheme, version, route string }

func named(i int) kindOf {
	return kindOf{method: "GET", scheme: "http", version: "1.1", route: "/api/items/" + strconv.Itoa(i) + "/{id}"}
}

// A map keeps kinds up to a bound, and makes the value of a kind that it keeps once.
func TestKindsAreBounded(t *testing.T) {
	for name, get := range map[string]func(m *kinds.Map[int, *int], k int) *int{
		"texts":         func(m *kinds.Map[int, *int], k int) *int { return m.Get(k, strconv.Itoa(k), 0) },
		"numbers":       func(m *kinds.Map[int, *int], k int) *int { return m.Get(k, "", k) },
		"equal in both": func(m *kinds.Map[int, *int], k int) *int { return m.Get(k, "text", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			m := kinds.New(func(k int) (int, *int) { return k, &k })
			const many = kinds.MaxKinds + 100
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for k := range many {
						if got := *get(m, k); got != k {
							t.Errorf("kind %d has the value of %d", k, got)
						}
					}
				})
			}
			wg.Wait()
			same := 0
			for k := range many {
				if first := get(m, k); get(m, k) == first {
					same++
				}
			}
			if same != kinds.MaxKinds {
				t.Errorf("%d kinds have one value each, want the %d that are kept", same, kinds.MaxKinds)
			}
		})
	}
}

func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1, 20, 200} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			m := kinds.New(func(k kindOf) (kindOf, *int) { k.route = strings.Clone(k.route); return k, new(int) })
			all := make([]kindOf, n)
			for i := range all {
				all[i] = named(i)
				m.Get(all[i], all[i].route, 200)
			}
			for i := 0; b.Loop(); i = (i + 1) % n {
				m.Get(all[i], all[i].route, 200)
			}
		})
	}
}

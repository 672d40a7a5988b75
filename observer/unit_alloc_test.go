//go:build !race

// The race detector allocates on its own account.

package observer_test

import (
	"testing"

	"github.com/perfline/perfline/observer"
)

func TestUnitAllocs(t *testing.T) {
	us := observer.NewUnits(discards{})
	var p observer.Interval = &piece{}
	for _, c := range []struct {
		what string
		want float64
		do   func()
	}{
		{"a root alone", 0, func() { us.HandOver(p) }},
		{"a unit with 20 intervals", 1, func() {
			u := us.New(false)
			for range 19 {
				u.Add(p)
			}
			u.End(p)
		}},
	} {
		if got := testing.AllocsPerRun(1000, c.do); got != c.want {
			t.Errorf("%s: %v allocations, want %v", c.what, got, c.want)
		}
	}
}

type discards struct{}

func (discards) HandOver([]observer.Interval) {}

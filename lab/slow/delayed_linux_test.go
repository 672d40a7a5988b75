package main

import (
	"testing"
	"time"
)

func TestStolen(t *testing.T) {
	for _, c := range []struct {
		stat string
		want time.Duration
	}{
		{"cpu  1865025 50445 335628 7196066 5895 0 7383 205 0 0\ncpu0 932638 24913 166973 3601003 1739 0 2380 101 0 0\n", 2050 * time.Millisecond},
		{"cpu 1 2 3 4 5 6 7\nintr 9 10\n", 0},
		{"", 0},
	} {
		if got := stolen(c.stat); got != c.want {
			t.Errorf("%q: stolen are %v, want %v", c.stat, got, c.want)
		}
	}
}

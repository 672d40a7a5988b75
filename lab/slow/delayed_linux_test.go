package main

import (
	"testing"
	"time"
)

func TestUnused(t *testing.T) {
	for _, c := range []struct {
		stat         string
		idle, stolen time.Duration
	}{
		{"cpu  1865025 50445 335628 7196066 5895 0 7383 205 0 0\ncpu0 932638 24913 166973 3601003 1739 0 2380 101 0 0\n", 72019610 * time.Millisecond, 2050 * time.Millisecond},
		{"cpu 1 2 3 4 5 6 7\nintr 9 10\n", 0, 0},
		{"", 0, 0},
	} {
		if idle, stolen := unused(c.stat); idle != c.idle || stolen != c.stolen {
			t.Errorf("%q: idle are %v and stolen %v, want %v and %v", c.stat, idle, stolen, c.idle, c.stolen)
		}
	}
}

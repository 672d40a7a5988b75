package main

import (
	"math"
	"slices"
	"testing"
)

// follow runs the search against something that holds every rate up to limit, and fails
// the attempts named by their number as well, and returns the rates that were tried.
func follow(s *search, limit float64, hiccups ...int) (tried []float64) {
	for rate, ok := s.rate(); ok; rate, ok = s.rate() {
		tried = append(tried, rate)
		s.report(rate <= limit && !slices.Contains(hiccups, len(tried)))
		if len(tried) > 1000 {
			return tried
		}
	}
	return tried
}

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		name               string
		start, max         float64
		halvings           int
		limit              float64
		hiccups            []int
		sustained          float64
		tried              []float64
		sustainedAtLeastOf float64 // of limit
	}{
		{
			name: "doubles, then halves", start: 100, max: 1e6, halvings: 2, limit: 500,
			tried: []float64{100, 200, 400, 800, 800, 566, 566, 476}, sustained: 476,
		},
		{name: "a hiccup is forgiven", start: 100, max: 1e6, halvings: 0, limit: 500, hiccups: []int{2}, tried: []float64{100, 200, 200, 400, 800, 800}, sustained: 400},
		{name: "not even the first", start: 100, max: 1e6, halvings: 3, limit: 50, tried: []float64{100, 100}, sustained: 0},
		{name: "the limit is sustained", start: 100, max: 300, halvings: 3, limit: 1e9, tried: []float64{100, 200, 300}, sustained: 300},
		{name: "close to the limit", start: 100, max: 1e9, halvings: 8, limit: 123_456, sustained: -1, sustainedAtLeastOf: 0.99},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSearch(c.start, c.max, c.halvings)
			tried := follow(s, c.limit, c.hiccups...)
			if c.tried != nil && !slices.Equal(tried, c.tried) {
				t.Errorf("tried %v, want %v", tried, c.tried)
			}
			if c.sustained >= 0 && s.sustained != c.sustained {
				t.Errorf("sustained %v, want %v", s.sustained, c.sustained)
			}
			if s.sustained > c.limit || s.sustained < c.sustainedAtLeastOf*c.limit {
				t.Errorf("sustained %v, want at most %v and at least %v of it", s.sustained, c.limit, c.sustainedAtLeastOf)
			}
			if s.sustained > 0 && s.sustained < c.max && math.IsInf(s.not, 1) {
				t.Error("it ended without a rate that is not sustained")
			}
		})
	}
}

package main

import "math"

// A search finds the highest rate that is held, one attempt at a time, so that several
// searches can take turns: it doubles the rate until one is not held, and then halves
// what is left between the two, on a logarithmic scale, some times. One attempt that
// fails may be the machine's doing: a rate counts as not held when a second attempt
// fails as well.
type search struct {
	held     float64 // the highest rate that was; 0: none yet
	not      float64 // the lowest rate that was not; +Inf: none yet
	next     float64 // to attempt
	limit    float64 // the search ends when this is held
	halvings int     // left
	again    bool    // next has failed once
}

func newSearch(start, limit float64, halvings int) *search {
	return &search{next: start, limit: limit, not: math.Inf(1), halvings: halvings}
}

// rate is the rate to attempt next, and whether there is one.
func (s *search) rate() (perSecond float64, ok bool) {
	switch {
	case s.held >= s.limit, s.held == 0 && !math.IsInf(s.not, 1):
		return 0, false
	case !math.IsInf(s.not, 1) && s.halvings == 0:
		return 0, false
	}
	return s.next, true
}

// report says whether the rate was held, and is told whether that is the lowest that was
// not: an attempt that fails is made once more.
func (s *search) report(held bool) (gaveWay bool) {
	if !held && !s.again {
		s.again = true
		return false
	}
	s.again = false
	if !math.IsInf(s.not, 1) {
		s.halvings--
	}
	if held {
		s.held = s.next
	} else {
		s.not = s.next
	}
	if math.IsInf(s.not, 1) {
		s.next = min(2*s.held, s.limit)
	} else {
		s.next = math.Round(math.Sqrt(s.held * s.not))
	}
	return !held
}

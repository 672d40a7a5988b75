package main

import "math"

// A search finds the highest sustained rate. It makes one attempt at a time, so several
// searches can take turns. It doubles the rate until one fails. Then it halves the range
// between the last two, on a logarithmic scale, some times. A rate fails only when two
// attempts fail, because the machine may cause one failure.
type search struct {
	sustained float64 // the highest rate that was; 0: none yet
	not       float64 // the lowest rate that was not; +Inf: none yet
	next      float64 // to attempt
	limit     float64 // the search ends when this is sustained
	halvings  int     // left
	again     bool    // next has failed once
}

func newSearch(start, limit float64, halvings int) *search {
	return &search{next: start, limit: limit, not: math.Inf(1), halvings: halvings}
}

// rate is the rate to attempt next, and whether there is one.
func (s *search) rate() (perSecond float64, ok bool) {
	switch {
	case s.sustained >= s.limit, s.sustained == 0 && !math.IsInf(s.not, 1):
		return 0, false
	case !math.IsInf(s.not, 1) && s.halvings == 0:
		return 0, false
	}
	return s.next, true
}

// report gives the search an attempt's result, and returns whether the rate failed for good. An
// attempt that fails is made once more.
func (s *search) report(sustained bool) (gaveWay bool) {
	if !sustained && !s.again {
		s.again = true
		return false
	}
	s.again = false
	if !math.IsInf(s.not, 1) {
		s.halvings--
	}
	if sustained {
		s.sustained = s.next
	} else {
		s.not = s.next
	}
	if math.IsInf(s.not, 1) {
		s.next = min(2*s.sustained, s.limit)
	} else {
		s.next = math.Round(math.Sqrt(s.sustained * s.not))
	}
	return !sustained
}

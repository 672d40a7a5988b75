package main

import (
	"math"
	"time"
)

// A histogram counts durations in buckets 2 % apart, so that it stays small
// however many there are.
type histogram struct {
	buckets map[int]int
	count   int
	max     time.Duration
}

const bucketRatio = 1.02

func (h *histogram) add(d time.Duration) {
	if h.buckets == nil {
		h.buckets = map[int]int{}
	}
	h.buckets[int(math.Ceil(math.Log(float64(max(d, 1)))/math.Log(bucketRatio)))]++
	h.count++
	h.max = max(h.max, d)
}

// quantile is the upper bound of the bucket in which the share q of all
// durations is reached; 0 without any.
func (h *histogram) quantile(q float64) time.Duration {
	if h.count == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(h.count)))
	last := int(math.Ceil(math.Log(float64(max(h.max, 1))) / math.Log(bucketRatio)))
	for b := 0; b <= last; b++ {
		if rank -= h.buckets[b]; rank <= 0 {
			return min(h.max, time.Duration(math.Pow(bucketRatio, float64(b))))
		}
	}
	return h.max
}

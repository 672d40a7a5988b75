package load

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/url"
	"slices"
	"time"
)

// Results are what became of calls.
type Results struct {
	Answered  int             // returned without an error
	Failed    int             // all others
	Unsent    int             // were due, and had to wait for others until the load's end
	Errors    map[string]int  // of those that failed
	Latencies []time.Duration // of those answered, since they were due; sorted
}

// P returns the quantile q of the latencies.
func (r Results) P(q float64) time.Duration { return Quantile(r.Latencies, q) }

// Quantile returns the least of the sorted values that at least the share q of them does not
// exceed, of rank ⌈q·n⌉: 0.5 is the median, 1 the maximum. It returns the zero value if there
// are none.
func Quantile[T any](sorted []T, q float64) (value T) {
	if len(sorted) == 0 {
		return value
	}
	// 0.07 of 100 is a little over 7 in binary fractions, and not the eighth.
	rank := int(math.Ceil(q*float64(len(sorted)) - 1e-6))
	return sorted[max(rank, 1)-1]
}

// Err is an error if calls have failed: how many, and why.
func (r Results) Err() error {
	var all []error
	for _, text := range slices.Sorted(maps.Keys(r.Errors)) {
		all = append(all, fmt.Errorf("%d requests failed: %s", r.Errors[text], text))
	}
	return errors.Join(all...)
}

// reason is an error without what differs between requests: addresses and ports.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op + ": " + op.Err.Error()
	}
	var in *url.Error
	if errors.As(err, &in) {
		return in.Err.Error()
	}
	return err.Error()
}

package routes

import (
	"math/bits"
	"time"
)

const (
	octave  = 4                    // buckets in each doubling
	unit    = time.Microsecond / 4 // the width of the narrowest buckets
	buckets = 1 + 32*octave        // from less than 1 µs to everything above an hour
	perRow  = 2                    // buckets in each row of a heat map but the first
	rows    = 1 + (buckets-1)/perRow
)

// bucketOf returns the bucket of a duration.
func bucketOf(took time.Duration) int {
	n := uint64(max(took, 0) / unit)
	if n < octave {
		return 0
	}
	doublings := bits.Len64(n) - bits.Len64(octave)
	return min(doublings*octave+int(n>>doublings)-octave+1, buckets-1)
}

// lowerBound returns the lower bound of a bucket, which is the upper bound of the bucket before.
func lowerBound(bucket int) time.Duration {
	if bucket == 0 {
		return 0
	}
	doublings, within := (bucket-1)/octave, (bucket-1)%octave
	return time.Duration(octave+within) * unit << doublings
}

// rowOf returns the row of a bucket in heat maps: two rows cover each doubling of the duration.
func rowOf(bucket int) int { return (bucket + perRow - 1) / perRow }

func firstBucket(row int) int { return max(0, row*perRow-perRow+1) }

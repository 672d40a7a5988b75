package queue

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the delay of the header Retry-After, given in seconds or by a date, for
// [Answer].After. It returns 0 for a missing or malformed header. RFC 9110, section 10.2.3.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil ||
		errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(math.MaxInt64/time.Second))) * time.Second //nolint:gosec // bounded
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

package queue

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"
)

// RetryAfter returns the delay in the header Retry-After, for the field After of an [Answer]. The
// header contains a number of seconds or a date (RFC 9110, section 10.2.3). RetryAfter returns 0 if
// the header is missing or malformed, or if the date is not after now.
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

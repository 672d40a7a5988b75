package queue_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/queue"
)

func TestRetryAfter(t *testing.T) {
	const longest = 9_223_372_036 * time.Second // the most that fits
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "3": 3 * time.Second, "-5": 0, " ": 0, "1.5": 0, "soon": 0, "9223372036854775807": longest, "99999999999999999999": longest,
		"Thu, 01 Jan 2026 00:01:00 GMT": time.Minute, "Wed, 31 Dec 2025 23:59:00 GMT": 0,
	} {
		if got := queue.RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q is %v, want %v", value, got, want)
		}
	}
}

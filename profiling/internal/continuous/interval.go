package continuous

import (
	"fmt"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/environ"
)

// Bounds of intervals.
const (
	DefaultInterval = 15 * time.Second
	minInterval     = time.Second
	maxInterval     = 30 * time.Minute // servers refuse what began an hour ago
	maxLeakInterval = 24 * time.Hour
)

const envLeaks = "PERFLINE_LEAK_INTERVAL"

// CheckInterval returns an error unless profiles may be taken at an interval. name is the field's.
func CheckInterval(name string, d time.Duration) error {
	if d < minInterval || d > maxInterval {
		return fmt.Errorf("%s %v: must be between %v and %v", name, d, minInterval, maxInterval)
	}
	return nil
}

// ReadLeakInterval returns the interval of a field LeakInterval, or else of PERFLINE_LEAK_INTERVAL.
// It is negative unless leaked goroutines are to be profiled. A wrong variable is logged by vars,
// and means the same.
func ReadLeakInterval(vars *environ.Reader, field time.Duration) (time.Duration, error) {
	inRange := func(d time.Duration) bool { return d >= minInterval && d <= maxLeakInterval }
	switch {
	case field == 0:
		return environ.Read(vars, -1, func(value string) (time.Duration, bool) {
			if strings.EqualFold(value, "off") {
				return -1, true
			}
			d, err := time.ParseDuration(value)
			return d, err == nil && inRange(d)
		}, envLeaks), nil
	case field > 0 && !inRange(field):
		return 0, fmt.Errorf("LeakInterval %v: must be between %v and %v, or negative for none",
			field, minInterval, maxLeakInterval)
	default:
		return field, nil
	}
}

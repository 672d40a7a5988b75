package continuous

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/profiling"
)

// Defaults and bounds of Settings.
const (
	DefaultInterval   = 15 * time.Second
	minInterval       = time.Second
	maxInterval       = 30 * time.Minute // servers refuse profiles that began an hour ago
	maxLeakInterval   = 24 * time.Hour
	defaultQueueBytes = 16 << 20 // some minutes to tens of minutes of a busy service
)

const envLeaks = "PERFLINE_LEAK_INTERVAL"

// Settings contains the fields that the configurations of all receivers share.
type Settings struct {
	Interval, LeakInterval time.Duration
	Spans                  profiling.Selection
	QueueBytes             int
	Logger                 *slog.Logger
}

// InRange reports whether d is a valid value of Settings.Interval.
func InRange(d time.Duration) bool { return d >= minInterval && d <= maxInterval }

// Resolve returns a copy of s with defaults for unset fields. An error names the field, the value
// and the rule. The parameter interval is the name of the field Interval in an error.
//
// LeakInterval becomes negative unless s or PERFLINE_LEAK_INTERVAL enables the profile of leaked
// goroutines. The Reader vars logs an invalid variable. An invalid variable counts as unset.
func (s Settings) Resolve(vars *environ.Reader, interval string) (Settings, error) {
	leaks := func(d time.Duration) bool { return d >= minInterval && d <= maxLeakInterval }
	s.Interval = cmp.Or(s.Interval, DefaultInterval)
	switch {
	case !InRange(s.Interval):
		return s, fmt.Errorf("%s %v: must be between %v and %v",
			interval, s.Interval, minInterval, maxInterval)
	case s.QueueBytes < 0:
		return s, fmt.Errorf("QueueBytes %d: must not be negative", s.QueueBytes)
	case s.LeakInterval > 0 && !leaks(s.LeakInterval):
		return s, fmt.Errorf("LeakInterval %v: must be between %v and %v, or negative for none",
			s.LeakInterval, minInterval, maxLeakInterval)
	case s.LeakInterval == 0:
		s.LeakInterval = environ.Read(vars, -1, func(value string) (time.Duration, bool) {
			if strings.EqualFold(value, "off") {
				return -1, true
			}
			d, err := time.ParseDuration(value)
			return d, err == nil && leaks(d)
		}, envLeaks)
	}
	s.QueueBytes = cmp.Or(s.QueueBytes, defaultQueueBytes)
	return s, nil
}

// with returns the settings of a source that serves receivers with s and with t.
func (s Settings) with(t Settings) Settings {
	if s.Interval == 0 {
		return t
	}
	s.Interval, s.Spans = min(s.Interval, t.Interval), max(s.Spans, t.Spans)
	if s.LeakInterval <= 0 || t.LeakInterval > 0 && t.LeakInterval < s.LeakInterval {
		s.LeakInterval = t.LeakInterval
	}
	return s
}

package mcpserver

import (
	"math"
	"strconv"
	"time"
)

// ms returns a duration in milliseconds, with three digits or more from 1 ms on and four behind the
// point below.
func ms(d time.Duration) word {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case math.Abs(v) < 0.00005: // with four digits, it could be a negative zero
		return "0.00"
	case v >= 100 || v <= -100:
		return word(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 10 || v <= -10:
		return word(strconv.FormatFloat(v, 'f', 1, 64))
	case v >= 1 || v <= -1:
		return word(strconv.FormatFloat(v, 'f', 2, 64))
	}
	return word(strconv.FormatFloat(v, 'f', 4, 64))
}

// took returns a duration with its unit.
func took(d time.Duration) word { return ms(d) + " ms" }

// moment returns a time of the day and its date.
func moment(t time.Time) word { return word(t.UTC().Format("2006-01-02T15:04:05.000Z")) }

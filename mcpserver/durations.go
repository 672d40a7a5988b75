package mcpserver

import (
	"math"
	"strconv"
	"time"
)

// ms returns d in milliseconds: with at least three digits from 1 ms on, with four decimal places
// below 1 ms.
func ms(d time.Duration) word {
	v, digits := float64(d)/float64(time.Millisecond), 4
	switch size := math.Abs(v); {
	case size < 0.00005: // four decimal places of a negative number would be -0.0000
		return "0.00"
	case size >= 100:
		digits = 0
	case size >= 10:
		digits = 1
	case size >= 1:
		digits = 2
	}
	return word(strconv.FormatFloat(v, 'f', digits, 64))
}

func took(d time.Duration) word { return ms(d) + " ms" }

// moment returns date and time in UTC, with milliseconds.
func moment(t time.Time) word { return word(t.UTC().Format("2006-01-02T15:04:05.000Z")) }

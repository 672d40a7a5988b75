package text

import (
	"fmt"
	"strconv"
	"time"
)

// Duration formats d with three significant digits, such as "1.50ms". Durations below a microsecond
// are in whole nanoseconds.
func Duration(d time.Duration) string {
	switch abs := d.Abs(); {
	case abs < time.Microsecond:
		return fmt.Sprintf("%dns", d)
	case abs < time.Millisecond:
		return digits(float64(d)/1e3) + "µs"
	case abs < time.Second:
		return digits(float64(d)/1e6) + "ms"
	}
	return digits(float64(d)/1e9) + "s"
}

func digits(x float64) string {
	switch {
	case x > -10 && x < 10:
		return fmt.Sprintf("%.2f", x)
	case x > -100 && x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Length formats d for a sentence, such as "18 ms" or "1.5 s". The result contains one decimal
// place if d is from 1 to 10 ms or from 1 to 10 s. Other results are whole numbers.
func Length(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return number(d, time.Second, 0) + " s"
	case d >= time.Second:
		return number(d, time.Second, 1) + " s"
	case d >= 10*time.Millisecond:
		return number(d, time.Millisecond, 0) + " ms"
	case d >= time.Millisecond:
		return number(d, time.Millisecond, 1) + " ms"
	}
	return number(d, time.Microsecond, 0) + " µs"
}

func number(d, unit time.Duration, digits int) string {
	return strconv.FormatFloat(float64(d)/float64(unit), 'f', digits, 64)
}

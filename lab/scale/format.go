package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// duration is d with two or three digits.
func duration(d time.Duration) string {
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 100*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d > -10*time.Microsecond && d < 10*time.Microsecond:
		return fmt.Sprintf("%.1f µs", d.Seconds()*1e6)
	}
	return fmt.Sprintf("%.0f µs", d.Seconds()*1e6)
}

// number is v with its thousands apart, and without digits that say nothing.
func number(v float64) string {
	switch {
	case v != 0 && math.Abs(v) < 10:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	case v < 0:
		return "-" + number(-v)
	}
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}

// size is v bytes in units of a thousand, as networks and disks are sold.
func size(v float64) string {
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	i := 0
	for ; math.Abs(v) >= 1000 && i < len(units)-1; i++ {
		v /= 1000
	}
	digits := 0
	if v < 10 && i > 0 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %s", digits, v, units[i])
}

// none is in a table where there is no figure.
const none = "–"

// A table is one in Markdown: the first row is its head, the first column text and, with
// explained, the last one as well.
type table struct {
	rows      [][]string
	explained bool
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) String() string {
	var out strings.Builder
	for i, row := range t.rows {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(row, " | "))
		if i > 0 {
			continue
		}
		for j := range row {
			if j == 0 || t.explained && j == len(row)-1 {
				out.WriteString("|---")
			} else {
				out.WriteString("|---:")
			}
		}
		out.WriteString("|\n")
	}
	return out.String()
}

// Package servertiming writes and parses the Server-Timing header field of an HTTP response (W3C
// Server Timing, section 2).
//
//	m := servertiming.Metric{Name: "db", Duration: d, HasDuration: true}
//	dst = servertiming.Append(dst, m)
//	metrics, malformed, dropped := servertiming.Parse(response.Header.Values("Server-Timing"))
//
// Append accepts any Metric, and replaces bytes that the header cannot contain. Parse returns an
// appended metric as it is after this replacement. Parse is safe for responses of unknown servers:
// its result is bounded, and it skips malformed parts as browsers do.
//
// All functions are safe for concurrent use.
package servertiming

import (
	"bytes"
	"strconv"
	"time"
)

const (
	// Many proxies refuse a response with a header larger than their buffer, often 4 KiB.
	maxName        = 64  // bytes: fits a column of a developer tool
	maxDescription = 128 // bytes: a sentence, or two traceparents
)

// A Metric is one metric of a Server-Timing header field.
type Metric struct {
	Name        string        // a token; Append replaces other bytes
	Duration    time.Duration // "dur", milliseconds on the wire; not negative
	HasDuration bool          // false for a plain event such as "miss"
	Description string        // "desc"; empty: absent
}

// Append appends m in the header's grammar, name;dur=1.234;desc="…", and returns the extended
// slice. Append allocates only if dst is too small. The caller writes commas between metrics.
//
//   - A byte of the name that tokens must not contain (RFC 9110, section 5.6.2) becomes '_'. An
//     empty name becomes "_". The name is cut to 64 bytes. If the name changes and the description
//     is empty, the original name becomes the description.
//   - The duration is rounded to microseconds. A negative duration becomes 0.
//   - Each character of the description outside of printable ASCII becomes '?', because browsers
//     read headers as Latin-1. The description is cut to 128 characters, without the backslashes of
//     quoting.
func Append(dst []byte, m Metric) []byte {
	start := len(dst)
	for i := range min(len(m.Name), maxName) {
		c := m.Name[i]
		if !tchar(c) {
			c = '_'
		}
		dst = append(dst, c)
	}
	if m.Name == "" {
		dst = append(dst, '_')
	}
	description := m.Description
	if description == "" && string(dst[start:]) != m.Name {
		description = m.Name
	}
	if m.HasDuration {
		dst = append(dst, ";dur="...)
		dst = appendMilliseconds(dst, m.Duration)
	}
	if description != "" {
		dst = append(dst, ";desc="...)
		dst = appendDescription(dst, description)
	}
	return dst
}

// appendMilliseconds appends d in milliseconds with up to three decimals. It writes no exponent,
// because not every reader parses exponents.
func appendMilliseconds(dst []byte, d time.Duration) []byte {
	us := max(d, 0).Round(time.Microsecond).Microseconds()
	dst = strconv.AppendInt(dst, us/1000, 10)
	if us%1000 == 0 {
		return dst
	}
	dst = append(dst, '.', byte('0'+us/100%10), byte('0'+us/10%10), byte('0'+us%10))
	return bytes.TrimRight(dst, "0")
}

// appendDescription appends s, which is not empty, as a token or else as a quoted-string (RFC 9110,
// section 5.6.4).
func appendDescription(dst []byte, s string) []byte {
	start := s[:min(len(s), maxDescription)]
	if t, rest := token(start); rest == "" {
		return append(dst, t...)
	}
	dst = append(dst, '"')
	n := 0
	for _, r := range s {
		if n == maxDescription {
			break
		}
		n++
		switch {
		case r < ' ' || r > '~':
			r = '?'
		case r == '"' || r == '\\':
			dst = append(dst, '\\')
		}
		dst = append(dst, byte(r))
	}
	return append(dst, '"')
}

// Package servertiming writes and reads the Server-Timing header field of an HTTP response (W3C
// Server Timing, section 2).
//
//	dst = servertiming.Append(dst, servertiming.Metric{Name: "db", Duration: took, HasDuration: true})
//	metrics, malformed, dropped := servertiming.Parse(response.Header.Values("Server-Timing"))
//
// Any Metric can be written: what the header cannot carry is replaced. It is read back as it was
// after that replacement. Reading is for responses of unknown servers. It is bounded, and skips
// what does not belong, as browsers do.
//
// All functions are safe for concurrent use.
package servertiming

import (
	"bytes"
	"strconv"
	"time"
)

const (
	// Many proxies refuse a response if the header is larger than their buffer, often 4 KiB. A name
	// of 64 bytes fits a column of a developer tool. A description of 128 bytes has room for a
	// sentence, or for two traceparents.
	maxName        = 64
	maxDescription = 128
)

// A Metric is one metric of a Server-Timing header field.
type Metric struct {
	Name     string        // a token; Append makes it one
	Duration time.Duration // "dur", milliseconds on the wire; not negative
	// whether there is a Duration: "miss" alone says that something happened
	HasDuration bool
	Description string // "desc"; empty: none
}

// Append appends m as the header's grammar wants it, name;dur=1.234;desc="…", and returns the
// extended slice. It allocates only if dst is too small. Commas between metrics are the caller's.
//
//   - A byte of the name that no token may have (RFC 9110, section 5.6.2) becomes '_', and so does
//     an empty name. The name is cut to 64 bytes. If that changed the name and there is no
//     description, the original name is the description.
//   - The duration is rounded to microseconds. A negative one is 0.
//   - Each character of the description outside of printable ASCII becomes '?', because browsers
//     read a header's bytes as Latin-1. The description is cut to 128 characters, without the
//     backslashes of quoting.
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

// appendMilliseconds writes down to microseconds, as tracing backends show, and digits only: not
// every reader knows exponents.
func appendMilliseconds(dst []byte, d time.Duration) []byte {
	us := max(d, 0).Round(time.Microsecond).Microseconds()
	dst = strconv.AppendInt(dst, us/1000, 10)
	if us%1000 == 0 {
		return dst
	}
	dst = append(dst, '.', byte('0'+us/100%10), byte('0'+us/10%10), byte('0'+us%10))
	return bytes.TrimRight(dst, "0")
}

// appendDescription writes a token as it is, anything else as a quoted-string (RFC 9110, section
// 5.6.4). s is not empty.
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

package servertiming

import (
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	// Bounds of one response. Real fields have some hundred bytes and a dozen metrics.
	// With these bounds, the metrics of the worst response hold half a megabyte.
	maxValue   = 4 << 10 // bytes of one field value
	maxMetrics = 64      // of one message
)

// Parse reads the values of a message's Server-Timing fields, in their order.
// Nothing it returns refers to values.
//
//   - A value must follow the grammar and have at most 4 KiB. Otherwise Parse leaves it
//     out as a whole and counts it in malformed. The grammar is section 2 of Server
//     Timing, with lists, tokens and quoted-strings as in RFC 9110, sections 5.6.1, 5.6.2
//     and 5.6.4. A parameter without a value is malformed.
//   - Names of parameters are case-insensitive (RFC 9110, section 5.6.6). The
//     first parameter of a name counts, even if its value is of no use; other
//     parameters are ignored.
//   - A dur is a number of milliseconds. Section 3.2 reads it by HTML's rules for
//     floating-point numbers. Parse accepts the numbers that HTML calls valid ("12",
//     "12.3", ".5", and "1e-7" as JavaScript prints small numbers), without a sign.
//     Other text, and a number that time.Duration cannot hold, leave the metric without
//     a duration. A browser makes such a duration 0, or uses the leading digits.
//     Fractions of a nanosecond are lost.
//   - A description keeps its UTF-8. Other bytes become U+FFFD.
//   - Parse returns the first 64 metrics of the message. dropped counts the well-formed
//     ones after them.
func Parse(values []string) (metrics []Metric, malformed, dropped int) {
	for _, value := range values {
		after, over, ok := appendValue(metrics, value)
		if !ok {
			malformed++
			continue
		}
		metrics = after
		dropped += over
	}
	return metrics, malformed, dropped
}

// appendValue appends the metrics of one field value, up to the bound for the
// message; over counts the rest.
func appendValue(metrics []Metric, s string) (_ []Metric, over int, ok bool) {
	if len(s) > maxValue {
		return nil, 0, false
	}
	// A recipient ignores empty elements of a list (RFC 9110, section 5.6.1.2), and
	// the whitespace around a value is no part of it (section 5.5).
	for s = skipOWS(s); s != ""; s = skipOWS(s[1:]) {
		if s[0] != ',' {
			var m Metric
			if m, s, ok = parseMetric(s); !ok {
				return nil, 0, false
			}
			if len(metrics) < maxMetrics {
				m.Name, m.Description = strings.Clone(m.Name), strings.Clone(m.Description)
				metrics = append(metrics, m)
			} else {
				over++
			}
		}
		if s == "" {
			break
		}
		if s[0] != ',' {
			return nil, 0, false
		}
	}
	return metrics, over, true
}

// parseMetric reads a server-timing-metric and the whitespace after it. Its
// strings may be part of s.
func parseMetric(s string) (m Metric, rest string, ok bool) {
	if m.Name, s = token(s); m.Name == "" {
		return Metric{}, "", false
	}
	var dur, desc bool // seen
	for s = skipOWS(s); s != "" && s[0] == ';'; s = skipOWS(s) {
		var name, value string
		if name, value, s, ok = parseParam(skipOWS(s[1:])); !ok {
			return Metric{}, "", false
		}
		switch {
		case strings.EqualFold(name, "dur") && !dur:
			dur = true
			m.Duration, m.HasDuration = parseMilliseconds(value)
		case strings.EqualFold(name, "desc") && !desc:
			desc = true
			m.Description = strings.ToValidUTF8(value, "\uFFFD")
		}
	}
	return m, s, true
}

func parseParam(s string) (name, value, rest string, ok bool) {
	name, s = token(s)
	s = skipOWS(s)
	if name == "" || s == "" || s[0] != '=' {
		return "", "", "", false
	}
	s = skipOWS(s[1:])
	if s != "" && s[0] == '"' {
		value, s, ok = quotedString(s[1:])
		return name, value, s, ok
	}
	value, s = token(s)
	return name, value, s, value != ""
}

// parseMilliseconds takes digits, a dot and digits, or both; then perhaps an
// exponent. No number ends in its dot.
func parseMilliseconds(s string) (_ time.Duration, ok bool) {
	last, rest := digits(s)
	if fraction, dot := strings.CutPrefix(rest, "."); dot {
		last, rest = digits(fraction)
	}
	if last == "" {
		return 0, false
	}
	if rest == "" {
		// Exact, where a float64 has no more than 53 bits.
		d, err := time.ParseDuration(s + "ms")
		return d, err == nil
	}
	// ParseFloat checks the text after an e, but would accept Go's "1e1_0".
	if rest[0] != 'e' && rest[0] != 'E' || strings.Contains(rest, "_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	ns := math.Round(f * float64(time.Millisecond))
	if err != nil || ns >= math.MaxInt64 {
		return 0, false
	}
	return time.Duration(ns), true
}

// digits splits s after its leading digits.
func digits(s string) (leading, rest string) {
	rest = strings.TrimLeft(s, "0123456789")
	return s[:len(s)-len(rest)], rest
}

// quotedString reads a quoted-string from after its opening quote on.
func quotedString(s string) (value, rest string, ok bool) {
	var unescaped []byte
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '"' {
			return string(unescaped), s[i+1:], true
		}
		if c == '\\' {
			i++
			if i == len(s) {
				break
			}
			c = s[i]
		}
		if control(c) {
			break
		}
		unescaped = append(unescaped, c)
	}
	return "", "", false
}

// control says that c is none of a quoted-string's characters; all others are,
// the bytes of any encoding (obs-text) included.
func control(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

// token splits s after its leading token, which is empty if there is none.
func token(s string) (leading, rest string) {
	i := 0
	for i < len(s) && tchar(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// tchar says whether a token may contain c (RFC 9110, section 5.6.2).
func tchar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func skipOWS(s string) string { return strings.TrimLeft(s, " \t") }

package servertiming

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// Real fields have some hundred bytes and a dozen metrics. With these bounds, the metrics of
	// the worst response retain half a megabyte.
	maxValue   = 4 << 10 // bytes of one field value
	maxMetrics = 64      // of one message
)

// Parse parses the values of a message's Server-Timing fields in order, as browsers do. The result
// shares no memory with values.
//
// The grammar is section 2 of Server Timing. Parse skips malformed parts by these rules:
//
//   - A metric is a token with parameters. Parse skips text between the token and the next
//     semicolon or comma. An element of the list that does not begin with a token counts as
//     malformed.
//   - The value of a parameter is a token or a quoted string. Parse skips text between the value
//     and the next semicolon or comma. A missing value counts as "". A quoted string without a
//     closing quote also counts as "", and extends to the end of the field. Parse skips a parameter
//     without a name.
//   - Names of parameters are case-insensitive. Among parameters with the same name, only the first
//     parameter counts, even with an invalid value. Parse ignores parameters other than dur and
//     desc.
//   - A dur is a number of milliseconds by HTML's rules for floating-point numbers (section 3.2):
//     characters after the number are ignored. Parse ignores a dur that is missing, negative or too
//     large for time.Duration. Parse drops fractions of a nanosecond.
//   - The UTF-8 of a description remains unchanged. Other bytes and control characters become
//     U+FFFD.
//
// Parse skips a value of more than 4 KiB, and counts the value as malformed. Parse returns the
// first 64 metrics of the message, and counts further metrics as dropped.
func Parse(values []string) (metrics []Metric, malformed, dropped int) {
	for _, s := range values {
		if len(s) > maxValue {
			malformed++
			continue
		}
		// A recipient ignores empty elements of a list (RFC 9110, section 5.6.1.2).
		for s = strings.TrimLeft(s, ", \t"); s != ""; s = strings.TrimLeft(s, ", \t") {
			var m Metric
			var ok bool
			switch m, s, ok = parseMetric(s); {
			case !ok:
				malformed++
			case len(metrics) == maxMetrics:
				dropped++
			default:
				m.Name, m.Description = strings.Clone(m.Name), strings.Clone(m.Description)
				metrics = append(metrics, m)
			}
		}
	}
	return metrics, malformed, dropped
}

// parseMetric parses an element of the list, up to its comma. The strings of m may share memory
// with s.
func parseMetric(s string) (m Metric, rest string, ok bool) {
	m.Name, s = token(s)
	s = skipTo(s, ";,")
	var dur, desc bool // parsed already
	for s != "" && s[0] == ';' {
		var name, value string
		name, value, s = parseParameter(skipOWS(s[1:]))
		switch {
		case strings.EqualFold(name, "dur") && !dur:
			dur = true
			m.Duration, m.HasDuration = parseMilliseconds(value)
		case strings.EqualFold(name, "desc") && !desc:
			desc = true
			m.Description = clean(value)
		}
	}
	return m, s, m.Name != ""
}

func parseParameter(s string) (name, value, rest string) {
	name, s = token(s)
	if s = skipOWS(s); name != "" && s != "" && s[0] == '=' {
		if s = skipOWS(s[1:]); s != "" && s[0] == '"' {
			value, s, _ = Unquote(s[1:])
		} else {
			value, s = token(s)
		}
	}
	return name, value, skipTo(s, ";,")
}

// clean returns a description as UTF-8 without control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// skipTo returns s from the first of the characters on.
func skipTo(s, chars string) string {
	if i := strings.IndexAny(s, chars); i >= 0 {
		return s[i:]
	}
	return ""
}

// parseMilliseconds parses the number at the beginning of s: an optional sign, digits with an
// optional fraction, and an optional exponent.
func parseMilliseconds(s string) (_ time.Duration, ok bool) {
	s = strings.TrimPrefix(strings.TrimLeft(s, " \t\n\f\r"), "+")
	end := digits(s)
	if strings.HasPrefix(s[end:], ".") {
		end += len(".") + digits(s[end+1:])
	}
	exponent := exponentLength(s[end:])
	if exponent == 0 {
		// Exact: a float64 holds only 53 bits.
		d, err := time.ParseDuration(s[:end] + "ms")
		return d, err == nil
	}
	f, err := strconv.ParseFloat(s[:end+exponent], 64)
	ns := math.Round(f * float64(time.Millisecond))
	if err != nil || ns >= math.MaxInt64 {
		return 0, false
	}
	return time.Duration(ns), true
}

// exponentLength returns the length of the exponent at the beginning of s, or 0.
func exponentLength(s string) int {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	length := 1
	if len(s) > 1 && (s[1] == '+' || s[1] == '-') {
		length = 2
	}
	power := digits(s[length:])
	if power == 0 {
		return 0
	}
	return length + power
}

func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

// Unquote parses the rest of a quoted-string after the opening quote (RFC 9110, section 5.6.4).
// Unquote returns the unescaped value and the text after the closing quote. Without a closing
// quote, Unquote returns false.
func Unquote(s string) (value, rest string, ok bool) {
	end := strings.IndexAny(s, `"\`)
	if end >= 0 && s[end] == '"' {
		return s[:end], s[end+1:], true
	}
	var unescaped []byte
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return string(unescaped), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		unescaped = append(unescaped, s[i])
	}
	return "", "", false
}

// token splits s after its leading token, which may be empty.
func token(s string) (leading, rest string) {
	i := 0
	for i < len(s) && tchar(s[i]) {
		i++
	}
	return s[:i], s[i:]
}

// tchar reports whether a token may contain c (RFC 9110, section 5.6.2).
func tchar(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

func skipOWS(s string) string { return strings.TrimLeft(s, " \t") }

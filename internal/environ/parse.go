package environ

import (
	"errors"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Text is a parser for [Read]. Text accepts any valid UTF-8.
func Text(value string) (string, bool) { return value, utf8.ValidString(value) }

// Bool is a parser for [Read]. Bool accepts true and false in upper or lower case.
func Bool(value string) (is, ok bool) {
	is = strings.EqualFold(value, "true")
	return is, is || strings.EqualFold(value, "false")
}

// Integer returns a parser for [Read]. The parser accepts whole numbers. The parameter least is the
// smallest accepted number, and most is the largest accepted number.
func Integer(least, most int) func(string) (int, bool) {
	return func(value string) (int, bool) {
		n, err := strconv.Atoi(value)
		return n, err == nil && n >= least && n <= most
	}
}

// Ratio is a parser for [Read]. Ratio accepts numbers from 0 to 1.
func Ratio(value string) (float64, bool) {
	f, err := strconv.ParseFloat(value, 64)
	return f, err == nil && f >= 0 && f <= 1
}

// Milliseconds returns a parser for [Read]. The parser accepts whole numbers of milliseconds. The
// parameter least is the smallest accepted number.
func Milliseconds(least int64) func(string) (time.Duration, bool) {
	return func(value string) (time.Duration, bool) {
		n, err := strconv.ParseInt(value, 10, 64)
		ok := err == nil && n >= least && n <= int64(math.MaxInt64/time.Millisecond)
		return time.Duration(n) * time.Millisecond, ok
	}
}

// Choice returns a parser for [Read]. The parser accepts the choices of the variable in upper or
// lower case, and returns the choice in lower case.
func Choice(name string) func(string) (string, bool) {
	choices := lookUp(name).Choices
	return func(value string) (string, bool) {
		value = strings.ToLower(value)
		return value, slices.Contains(choices, value)
	}
}

// Pairs is a parser for [Read]. Pairs accepts key=value pairs with commas between the pairs. Pairs
// decodes percent-encoding in keys and values.
func Pairs(value string) (map[string]string, bool) {
	pairs := map[string]string{}
	for pair := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, escaped, found := strings.Cut(pair, "=")
		key, wrong := url.PathUnescape(strings.TrimSpace(key))
		plain, err := url.PathUnescape(strings.TrimSpace(escaped))
		if !found || key == "" || wrong != nil || err != nil || !utf8.ValidString(key) ||
			!utf8.ValidString(plain) {
			return nil, false
		}
		pairs[key] = plain
	}
	return pairs, true
}

// Methods is a parser for [Read]. Methods accepts names of HTTP methods with commas between the
// names.
func Methods(value string) (names []string, ok bool) {
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !IsToken(name) {
			return nil, false
		}
		names = append(names, name)
	}
	return names, len(names) > 0
}

// IsToken reports whether s is a valid name of a header or of a method (RFC 9110, section 5.6.2).
func IsToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// Sendable reports whether net/http can send s as the value of a header.
func Sendable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// URL parses the address of a server. The address must contain a host and the scheme http or https.
// Errors do not contain the address.
func URL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	port := 0
	if err == nil && u.Port() != "" {
		port, err = strconv.Atoi(u.Port())
	}
	if err != nil || u.Port() != "" && (port < 1 || port > math.MaxUint16) || u.Host == "" ||
		!utf8.ValidString(raw) || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, errors.New(urlRule)
	}
	return u, nil
}

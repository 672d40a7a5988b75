// Package received makes what clients send, and servers answer, fit to be kept in spans and entries, of which
// thousands may wait in memory. Headers may have a megabyte and more.
package received

import (
	"net"
	"strconv"
	"strings"

	"github.com/perfline/perfline/internal/text"
)

const (
	// MaxText is how many bytes of a text are kept: more than URLs have that work everywhere.
	MaxText = 2 << 10

	// maxTraceState is the longest tracestate there can be but for spaces and empty
	// members (Trace Context, section 3.3.1): 32 members of a key and a value of 256 bytes.
	maxTraceState = 32*(256+len("=")+256) + 31*len(",")
)

// Text is s as UTF-8, cut to MaxText.
func Text(s string) string {
	return text.Valid(text.Cut(s, MaxText))
}

// Part is Text of a part of a text of length bytes, of which the rest does not stay in
// memory if it is long.
func Part(s string, length int) string {
	if length > MaxText && len(s) <= MaxText {
		s = strings.Clone(s)
	}
	return Text(s)
}

// TraceState returns the values of a tracestate header, and none if they are longer together than a
// valid one can be. A parsed part keeps the whole header in memory.
func TraceState(values []string) []string {
	length := 0
	for _, v := range values {
		if length += len(v); length > maxTraceState {
			return nil
		}
	}
	return values
}

// First is the first of a key's values, "" when there is none.
func First(values []string) string {
	if len(values) > 0 {
		return values[0]
	}
	return ""
}

// HostPort is net.SplitHostPort for values that may lack a port: 0 then, as
// for one that is no number.
func HostPort(hostport string) (host string, port int) {
	if strings.IndexByte(hostport, ':') < 0 { // most often, and net would make an error of it
		return hostport, 0
	}
	host, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]"), 0
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil {
		return host, 0
	}
	return host, int(n)
}

// Package received bounds the texts that clients send and servers answer, before spans and entries
// store the texts. Thousands of spans may wait in memory, and a header may have a megabyte.
package received

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/perfline/perfline/internal/text"
)

const (
	// MaxText is the largest size of a text in bytes. URLs that work everywhere are shorter.
	MaxText = 2 << 10

	// maxMembers is the largest number of members of a tracestate (Trace Context, 3.3.1.1).
	maxMembers = 32

	// maxTraceState is the largest size of a tracestate in bytes, without spaces and empty members
	// (Trace Context, 3.3.1): the members have a key and a value of 256 bytes.
	maxTraceState = maxMembers*(256+len("=")+256) + (maxMembers-1)*len(",")
)

// Text truncates s to MaxText bytes and returns valid UTF-8.
func Text(s string) string { return text.Valid(text.Cut(s, MaxText)) }

// Bounded truncates s to MaxText bytes. s is a part of a text of length bytes. The result does not
// reference a long text. The result may be invalid UTF-8.
func Bounded(s string, length int) string {
	if length > MaxText && len(s) <= MaxText {
		return strings.Clone(s)
	}
	return text.Cut(s, MaxText)
}

// TraceState returns values, the values of a tracestate header. TraceState returns nil if the
// values are longer than a valid tracestate. The limit is necessary because a parsed tracestate
// references the header's memory.
func TraceState(values []string) []string {
	length := 0
	for _, v := range values {
		if length += len(v); length > maxTraceState {
			return nil
		}
	}
	return values
}

// joinTraceState joins the fields of a tracestate header. Of members with the same key, the first
// one stays, which is the newest (Trace Context, sections 3.3.1 and 3.3.1.2): OpenTelemetry refuses
// a tracestate with a repeated key.
func joinTraceState(values []string) string {
	keys, members := make([]string, 0, maxMembers), make([]string, 0, maxMembers)
	unchanged := len(values) == 1
	for _, v := range values {
		for member := range strings.SplitSeq(v, ",") {
			member = strings.Trim(member, " \t")
			key, _, _ := strings.Cut(member, "=")
			switch {
			case member == "":
				continue
			case slices.Contains(keys, key):
				unchanged = false
				continue
			case len(keys) == maxMembers:
				return "" // invalid
			}
			keys, members = append(keys, key), append(members, member)
		}
	}
	if unchanged {
		return values[0]
	}
	return strings.Join(members, ",")
}

// Field returns the value that a propagator reads for a key in lower case. The result depends on
// the key:
//
//   - tracestate: all values, joined.
//   - traceparent: the value, or "" if the header is repeated, which is invalid.
//   - other keys: the first value, or "" without a value.
func Field(key string, values []string) string {
	switch key {
	case "traceparent":
		if len(values) > 1 {
			return ""
		}
	case "tracestate":
		return joinTraceState(values)
	}
	return First(values)
}

// First returns the first value, or "" if values is empty.
func First(values []string) string {
	if len(values) > 0 {
		return values[0]
	}
	return ""
}

// Address parses an IP address with an optional port, such as 192.0.2.7, 192.0.2.7:4711,
// 2001:db8::7 or [2001:db8::7]:4711. Address removes the zone, because other machines cannot
// interpret the zone. host is empty if s contains no address. port is 0 if s contains no port.
func Address(s string) (host string, port int) {
	if s == "" { // ParseAddr would allocate an error
		return "", 0
	}
	host, port = HostPort(s)
	if _, err := netip.ParseAddr(host); err != nil {
		return "", 0
	}
	host, _, _ = strings.Cut(host, "%")
	return host, port
}

// Host parses a host with an optional port, such as the Host header. A valid host contains only
// letters, digits, dots, hyphens, underscores and colons. host is empty if the host in s is
// invalid.
func Host(s string) (host string, port int) {
	host, port = HostPort(s)
	for i := range len(host) {
		switch c := host[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '-',
			c == '_', c == ':':
		default:
			return "", 0
		}
	}
	return host, port
}

// EndpointOf returns the address of an end of a connection: an IP address with a port, or a name.
// The address of a Unix socket is a name. For another kind of address, name is the host, and ip
// contains only the port.
//
// EndpointOf does not allocate for TCP. EndpointOf may panic if the program defines the type of a.
func EndpointOf(a net.Addr) (ip netip.AddrPort, name string) {
	switch a := a.(type) {
	case nil:
	case *net.TCPAddr:
		if ip = a.AddrPort(); !ip.IsValid() {
			ip = netip.AddrPort{}
		}
	case *net.UnixAddr:
		if a != nil && a.Name != "@" {
			name = Text(a.Name)
		}
	default:
		host, port := HostPort(a.String())
		return netip.AddrPortFrom(netip.Addr{}, uint16(port)), Text(host)
	}
	return ip, name
}

// EndpointHostPort converts the results of [EndpointOf] to a host and a port. host is empty without
// an IP address and a name. port is 0 without a port.
func EndpointHostPort(ip netip.AddrPort, name string) (host string, port int) {
	if ip.IsValid() {
		name = ip.Addr().Unmap().String()
	}
	return name, int(ip.Port())
}

// HostPort splits hostport like net.SplitHostPort, and also accepts texts without a port. port is 0
// if hostport contains no port or the port is not a number.
func HostPort(hostport string) (host string, port int) {
	if strings.IndexByte(hostport, ':') < 0 { // the usual case: net would allocate an error
		return hostport, 0
	}
	host, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]"), 0
	}
	if n, err := strconv.ParseUint(p, 10, 16); err == nil {
		port = int(n)
	}
	return host, port
}

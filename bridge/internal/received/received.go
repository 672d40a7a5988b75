// Package received makes what clients send, and servers answer, fit to be kept in spans and
// entries, of which thousands may wait in memory. Headers may have a megabyte and more.
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

// Bounded is s, a part of a text of length bytes, cut to MaxText without pinning a long text. The
// result may not be UTF-8.
func Bounded(s string, length int) string {
	if length > MaxText && len(s) <= MaxText {
		return strings.Clone(s)
	}
	return text.Cut(s, MaxText)
}

// TraceState returns values of a tracestate header that a valid one has room for. A parsed part
// keeps the header in memory.
func TraceState(values []string) []string {
	length := 0
	for _, v := range values {
		if length += len(v); length > maxTraceState {
			return nil
		}
	}
	return values
}

// maxMembers is how many members a tracestate may have (Trace Context, section 3.3.1.1).
const maxMembers = 32

// joinTraceState returns the one value of the fields of a tracestate header, with each key once:
// the first, which is the newest (Trace Context, sections 3.3.1 and 3.3.1.2). OpenTelemetry refuses
// a state that has a key twice.
func joinTraceState(values []string) string {
	keys, members := make([]string, 0, maxMembers), make([]string, 0, maxMembers)
	same := len(values) == 1 // as it was sent
	for _, v := range values {
		for member := range strings.SplitSeq(v, ",") {
			member = strings.Trim(member, " \t")
			key, _, _ := strings.Cut(member, "=")
			switch {
			case member == "":
				continue
			case slices.Contains(keys, key):
				same = false
				continue
			case len(keys) == maxMembers:
				return "" // not valid
			}
			keys, members = append(keys, key), append(members, member)
		}
	}
	if same {
		return values[0]
	}
	return strings.Join(members, ",")
}

// Field is the one value that a propagator reads of a key in lower case: the first, "" when there
// is none. All values of a tracestate are one. A traceparent that was sent several times is not
// valid, and "".
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

// First is the first of a key's values, "" when there is none.
func First(values []string) string {
	if len(values) > 0 {
		return values[0]
	}
	return ""
}

// Address is the IP address and the port in a text, such as 192.0.2.7, 192.0.2.7:4711, 2001:db8::7
// or [2001:db8::7]:4711. A zone is left out: it means nothing elsewhere. The host is empty if the
// text has no address, the port is 0 without one.
func Address(s string) (host string, port int) {
	if s == "" {
		return "", 0
	}
	host, port = HostPort(s)
	if _, err := netip.ParseAddr(host); err != nil {
		return "", 0
	}
	host, _, _ = strings.Cut(host, "%")
	return host, port
}

// Host is the host and the port in a text such as the Host header. The host is empty if the text is
// no name and no address: it has other characters than letters, digits, dots, hyphens, underscores
// and, in addresses, colons.
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

// EndpointOf returns an end of a connection: an IP address and its port, or else a name, as Unix
// sockets have. A port without an address belongs to the name. EndpointOf allocates nothing for
// TCP. A type of the program's may panic.
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

// EndpointHostPort returns the host and the port of what [EndpointOf] returned. The host is empty
// if the end has no name, the port is 0 without one.
func EndpointHostPort(ip netip.AddrPort, name string) (host string, port int) {
	if ip.IsValid() {
		name = ip.Addr().Unmap().String()
	}
	return name, int(ip.Port())
}

// HostPort is net.SplitHostPort for values that may lack a port. The port is 0 then, and also if it
// is no number.
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

package bridgehttp

import (
	"cmp"
	"strings"

	"github.com/perfline/perfline/bridge/bridgehttp/internal/servertiming"
	"github.com/perfline/perfline/bridge/internal/received"
)

// Proxies describe the client's request in Forwarded (RFC 7239), or else in X-Forwarded-For,
// X-Forwarded-Proto and X-Forwarded-Host. The first member of a list counts, because the proxy
// nearest to the client wrote this member. Malformed members and invalid values are ignored.

// listOf returns the fields of a list in at most 2 KiB. The result contains at least the first
// member, and may contain others.
func listOf(fields []string) string {
	if len(fields) == 0 || len(fields) == 1 && len(fields[0]) <= received.MaxText {
		return received.First(fields)
	}
	// A cut member ends in "…", and so is no valid address, scheme or host. The bound also lets go
	// of the field's memory.
	return received.Bounded(firstMember(fields...), received.MaxText+1)
}

// forwarded returns the value of a parameter of the list Forwarded, or else of the list own; "" if
// neither is valid. valid returns "" for an invalid value.
func forwarded(list, name, own string, valid func(string) string) string {
	if list == "" && own == "" {
		return ""
	}
	return cmp.Or(valid(parameterOf(list, name)), valid(firstMember(own)))
}

// firstMember returns the first non-empty member of a list. A list may span several fields (RFC
// 9110, section 5.3).
func firstMember(fields ...string) string {
	for _, rest := range fields {
		for rest != "" {
			end := memberEnd(rest)
			if member := strings.Trim(rest[:end], " \t"); member != "" {
				return member
			}
			rest = rest[min(end+1, len(rest)):]
		}
	}
	return ""
}

// memberEnd returns the index of the comma after a list's first member, or the list's length.
func memberEnd(list string) int {
	quoted := false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case c == ',' && !quoted:
			return i
		}
	}
	return len(list)
}

// parameterOf returns the last parameter called name of a list's first element. It stops at a
// malformed parameter.
func parameterOf(list, name string) (found string) {
	rest := firstMember(list)
	for {
		n, value, ok := strings.Cut(rest, "=")
		switch {
		case !ok:
			return found
		case strings.HasPrefix(value, `"`):
			if value, rest, ok = servertiming.Unquote(value[1:]); !ok {
				return found
			}
			var between string
			if between, rest, _ = strings.Cut(rest, ";"); strings.Trim(between, " \t") != "" {
				return found
			}
		default:
			value, rest, _ = strings.Cut(value, ";")
			value = strings.Trim(value, " \t")
		}
		if strings.EqualFold(strings.Trim(n, " \t"), name) {
			found = value
		}
	}
}

func addressIn(s string) string {
	host, _ := received.Address(s)
	return host
}

func schemeIn(s string) string {
	for _, scheme := range []string{schemeHTTP, schemeHTTPS} {
		if strings.EqualFold(s, scheme) {
			return scheme
		}
	}
	return ""
}

func hostIn(s string) string {
	if host, _ := received.Host(s); host == "" {
		return ""
	}
	return s
}

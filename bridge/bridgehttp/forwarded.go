package bridgehttp

import (
	"cmp"
	"strings"

	"github.com/perfline/perfline/bridge/bridgehttp/internal/servertiming"
	"github.com/perfline/perfline/bridge/internal/received"
)

// Proxies say how the client sent a request: in Forwarded (RFC 7239) or, for what that does not
// say, in X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host. Of several members the first
// counts, which is of the proxy nearest to the client. What cannot be parsed, or is no address,
// scheme or host, is as if it were absent.

// listOf returns a list that has the first member of the fields of a list, and may have others. It
// is short.
func listOf(fields []string) string {
	if len(fields) == 0 || len(fields) == 1 && len(fields[0]) <= received.MaxText {
		return received.First(fields)
	}
	// A cut member ends in "…", which no address, scheme or host has. Its field does not stay in
	// memory.
	return received.Bounded(firstMember(fields...), received.MaxText+1)
}

// forwarded returns what proxies say in a parameter of the list Forwarded, or else in a list of its
// own. It returns "" if no proxy says it. valid returns "" for a value that is not valid.
func forwarded(list, name, own string, valid func(string) string) string {
	if list == "" && own == "" {
		return ""
	}
	return cmp.Or(valid(parameterOf(list, name)), valid(firstMember(own)))
}

// firstMember returns the first member of a list that is not empty. A list may have several fields
// (RFC 9110, section 5.3).
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

// memberEnd is where the comma after a list's first member is, or the list's end.
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

// parameterOf returns a parameter of the first element of a list. The last of several counts. What
// follows a malformed parameter is not read.
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

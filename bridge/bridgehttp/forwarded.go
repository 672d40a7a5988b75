package bridgehttp

import (
	"cmp"
	"strings"

	"github.com/perfline/perfline/bridge/bridgehttp/internal/servertiming"
	"github.com/perfline/perfline/bridge/internal/received"
)

// Proxies say how the client sent a request: in Forwarded (RFC 7239) or, for what that does not say, in X-Forwarded-For,
// X-Forwarded-Proto and X-Forwarded-Host. Of several members the first counts, which is of the proxy nearest to the client. What
// cannot be parsed, or is no address, scheme or host, is as if it were absent.

// listOf returns a list that has the first member of the fields of a list, and may have others. It is short.
func listOf(fields []string) string {
	if len(fields) == 1 && len(fields[0]) <= received.MaxText {
		return fields[0]
	}
	// A cut member ends in "…", which no address, scheme or host has. Its field does not stay in memory.
	return received.Bounded(firstMember(fields...), received.MaxText+1)
}

// forwarded returns what proxies say in a parameter of the list Forwarded, or else in a list of its own. It returns "" if no proxy
// says it. valid returns "" for a value that is not valid.
func forwarded(list, name, own string, valid func(string) string) string {
	return cmp.Or(valid(parameterOf(list, name)), valid(firstMember(own)))
}

// parameterOf returns a parameter of the first element of a list. The last of several counts.
func parameterOf(list, name string) (value string) {
	for n, v, rest, ok := parameter(firstMember(list)); ok; n, v, rest, ok = parameter(rest) {
		if strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// firstMember returns the first member of a list that is not empty. A list may have several fields (RFC 9110, section 5.3).
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

// parameter returns the name and the value of the first parameter of an element of Forwarded, and the rest of the element. It
// returns false for a malformed parameter: then the rest of the element is not read.
func parameter(element string) (name, value, rest string, ok bool) {
	name, rest, ok = strings.Cut(element, "=")
	switch {
	case !ok:
		return "", "", "", false
	case strings.HasPrefix(rest, `"`):
		if value, rest, ok = servertiming.Unquote(rest[1:]); !ok {
			return "", "", "", false
		}
		var between string
		if between, rest, _ = strings.Cut(rest, ";"); strings.Trim(between, " \t") != "" {
			return "", "", "", false
		}
	default:
		value, rest, _ = strings.Cut(rest, ";")
		value = strings.Trim(value, " \t")
	}
	return strings.Trim(name, " \t"), value, rest, true
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

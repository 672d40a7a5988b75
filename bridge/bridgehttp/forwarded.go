package bridgehttp

import (
	"net/http"
	"strings"

	"github.com/perfline/perfline/bridge/internal/received"
)

// A sender is what proxies say of a request as its client sent it: Forwarded (RFC 7239) or, for what that does not say,
// X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host. Of several members the first counts, which is of the proxy
// nearest to the client. What cannot be parsed, or is no address, scheme or host, is as if it were absent.
type sender struct {
	address string // an IP address
	scheme  string // "http" or "https"
	host    string // as in a Host header
}

func readSender(h http.Header) (s sender) {
	first, length := firstMember(h["Forwarded"])
	for name, value, rest, ok := parameter(first); ok; name, value, rest, ok = parameter(rest) {
		switch {
		case strings.EqualFold(name, "for"):
			s.address = addressIn(value, length)
		case strings.EqualFold(name, "proto"):
			s.scheme = schemeIn(value, length)
		case strings.EqualFold(name, "host"):
			s.host = hostIn(value, length)
		}
	}
	if s.address == "" {
		s.address = addressIn(firstMember(h["X-Forwarded-For"]))
	}
	if s.scheme == "" {
		s.scheme = schemeIn(firstMember(h["X-Forwarded-Proto"]))
	}
	if s.host == "" {
		s.host = hostIn(firstMember(h["X-Forwarded-Host"]))
	}
	return s
}

// firstMember is the first member of a list that is not empty, and the length of the field that it is a part of. A list
// may have several fields (RFC 9110, section 5.3).
func firstMember(fields []string) (member string, length int) {
	for _, f := range fields {
		for rest := f; rest != ""; {
			end := memberEnd(rest)
			if member = strings.Trim(rest[:end], " \t"); member != "" {
				return member, len(f)
			}
			rest = rest[min(end+1, len(rest)):]
		}
	}
	return "", 0
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
		if value, rest, ok = unquote(rest[1:]); !ok {
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

// unquote reads a quoted string from after its first quote on. It returns what the string says, and the text behind it.
func unquote(s string) (value, rest string, ok bool) {
	end := strings.IndexAny(s, `"\`)
	if end >= 0 && s[end] == '"' {
		return s[:end], s[end+1:], true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:], true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		if b.Len() > received.MaxText {
			return "", "", false
		}
		b.WriteByte(s[i])
	}
	return "", "", false
}

func addressIn(s string, length int) string {
	host, _ := received.Address(s)
	return received.Part(host, length)
}

func schemeIn(s string, _ int) string {
	for _, scheme := range []string{"http", "https"} {
		if strings.EqualFold(s, scheme) {
			return scheme
		}
	}
	return ""
}

func hostIn(s string, length int) string {
	if host, _ := received.Host(s); host == "" {
		return ""
	}
	return received.Part(s, length)
}

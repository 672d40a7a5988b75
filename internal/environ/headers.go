package environ

import (
	"slices"
	"strings"
)

// HeaderRule is the rule for the headers of variables and of fields.
const HeaderRule = "names must be of letters, digits and - _ . for gRPC, values of printable ASCII for gRPC and without control characters for HTTP; " +
	"a name must not come twice, and not be one that the protocol sets itself"

// ownHeaders are the headers that the protocols or perfline set, and headers that break requests.
// Implementations drop some of them silently, and receivers refuse requests with others.
var ownHeaders = []string{
	"accept-encoding", "connection", "content-encoding", "content-length", "content-type", "expect",
	"http2-settings", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
	"upgrade",
}

// CanSend reports whether a request can contain a header. The request uses gRPC if grpc is true,
// and HTTP otherwise. CanSend returns false for headers that the protocol or perfline sets.
func CanSend(grpc bool, name, value string) bool {
	lower := strings.ToLower(name)
	switch {
	case !IsToken(name), slices.Contains(ownHeaders, lower):
		return false
	case !grpc:
		return Sendable(value)
	case lower == "host", strings.HasPrefix(lower, "grpc-"), strings.ContainsFunc(lower, notGRPC):
		return false
	default:
		return strings.HasSuffix(lower, "-bin") ||
			!strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
	}
}

// notGRPC reports whether gRPC's metadata forbids a character in names.
func notGRPC(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
}

// Duplicate returns a name that occurs twice in headers, or "". Duplicate ignores case.
func Duplicate[V any](headers map[string]V) string {
	seen := map[string]bool{}
	for name := range headers {
		if seen[strings.ToLower(name)] {
			return name
		}
		seen[strings.ToLower(name)] = true
	}
	return ""
}

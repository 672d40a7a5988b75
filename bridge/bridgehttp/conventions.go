package bridgehttp

import (
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/propagation"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/internal/environ"
)

// The parts of OpenTelemetry's semantic conventions for HTTP that servers and clients
// share.

// A method is an HTTP method as in the conventions: a standard one or _OTHER. So clients
// cannot make up span names and metrics.
type method struct {
	attr     string // http.request.method
	original string // http.request.method_original; empty where it says nothing new
}

// knownMethods are the methods that are told apart. They are the conventions' unless
// the variable that those define names others, separated by commas; perfline.Start logs a wrong one. Each is its own
// value: a request's method is a part of the whole request line, which is not to be kept.
func knownMethods() map[string]string {
	names := []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace, "QUERY",
	}
	if given, ok := environ.Methods(environ.Get("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS")); ok {
		names = given
	}
	known := map[string]string{}
	for _, name := range names {
		known[name] = name
	}
	return known
}

func methodOf(r *http.Request, known map[string]string) method {
	m := r.Method
	if m == "" {
		m = http.MethodGet
	}
	k, ok := known[m]
	if !ok {
		return method{attr: otherMethod, original: strings.Clone(received.Text(m))}
	}
	return method{attr: k}
}

const otherMethod = "_OTHER"

// spanMethod returns how the name of a span has a method.
func spanMethod(attr string) string {
	if attr == otherMethod {
		return "HTTP"
	}
	return attr
}

// protocolVersion is network.protocol.version: "1.1", "2".
func protocolVersion(major, minor int) string {
	switch {
	case major == 1 && minor == 1:
		return "1.1"
	case major >= 2:
		return strconv.Itoa(major)
	}
	return strconv.Itoa(major) + "." + strconv.Itoa(minor)
}

// nextHopProtocol is the protocol as Resource Timing has it: by its ALPN id.
func nextHopProtocol(major, minor int) string {
	if major >= 2 {
		return "h" + strconv.Itoa(major)
	}
	return "http/" + protocolVersion(major, minor)
}

// A carrier is a header that propagators read and write. It finds the usual names
// without spelling them anew each time.
type carrier struct{ propagation.HeaderCarrier }

var _ propagation.ValuesGetter = carrier{}

func (c carrier) Get(key string) string { return received.Field(key, c.Values(key)) }

func (c carrier) Values(key string) []string {
	switch key {
	case "traceparent":
		return c.HeaderCarrier["Traceparent"]
	case "tracestate":
		return received.TraceState(c.HeaderCarrier["Tracestate"])
	case "baggage":
		return c.HeaderCarrier["Baggage"]
	}
	return c.HeaderCarrier.Values(key)
}

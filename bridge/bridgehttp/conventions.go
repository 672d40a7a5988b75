package bridgehttp

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/record"
)

// knownMethods returns the methods that span names and metrics may contain: the methods of the
// conventions, or of the variable that the conventions define, separated by commas. perfline.Start
// logs a malformed variable.
func knownMethods() []string {
	if known, ok := environ.Methods(environ.Get("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS")); ok {
		return known
	}
	return []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodHead, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace, "QUERY",
	}
}

// methodOf returns http.request.method: an element of known, or otherMethod. The request's own text
// would retain the whole request line in memory.
func methodOf(r *http.Request, known []string) string {
	if i := slices.Index(known, cmp.Or(r.Method, http.MethodGet)); i >= 0 {
		return known[i]
	}
	return otherMethod
}

const otherMethod = "_OTHER"

// spanMethod returns the method as it appears in span names.
func spanMethod(attr string) string {
	if attr == otherMethod {
		return "HTTP"
	}
	return attr
}

// protocolVersion returns network.protocol.version: "1.1", "2".
func protocolVersion(major, minor int) string {
	switch {
	case major == 1 && minor == 1:
		return "1.1"
	case major >= 2:
		return strconv.Itoa(major)
	}
	return strconv.Itoa(major) + "." + strconv.Itoa(minor)
}

// nextHopProtocol returns the ALPN protocol id, as Resource Timing does.
func nextHopProtocol(major, minor int) string {
	if major >= 2 {
		return "h" + strconv.Itoa(major)
	}
	return "http/" + protocolVersion(major, minor)
}

// errorType returns the error.type of an error: its own ErrorType, or its Go type without the
// wrappers of fmt.Errorf.
func errorType(err error) (name string) {
	if _, ok := record.Protect(
		func() { name = received.Text(semconv.ErrorType(err).Value.AsString()) }); !ok {
		name = reflect.TypeOf(err).String()
	}
	return name
}

// errorText returns the text of an error without the URL of a [url.Error], because URLs may hold
// secrets. The text may quote a server.
func errorText(err error) string {
	record.Protect(func() {
		for u := (*url.Error)(nil); errors.As(err, &u); {
			err = u.Err
		}
	})
	if err == nil {
		return ""
	}
	return received.Text(record.ErrorText(err))
}

// A carrier is a header that propagators read and write. It reads the usual fields without
// canonicalizing their names on each access.
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

package bridgehttp

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strconv"

	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/perfline/perfline/bridge/internal/received"
	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/record"
)

// knownMethods are the methods that are told apart, so that clients cannot make up span names and
// metrics. They are the conventions' unless the variable that those define names others, separated
// by commas; perfline.Start logs a wrong one.
func knownMethods() []string {
	if given, ok := environ.Methods(environ.Get("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS")); ok {
		return given
	}
	return []string{
		http.MethodGet, http.MethodPost, http.MethodPut, http.MethodHead, http.MethodPatch,
		http.MethodDelete, http.MethodConnect, http.MethodOptions, http.MethodTrace, "QUERY",
	}
}

// methodOf is http.request.method: a known method, or otherMethod. It is not the request's own
// text, which keeps the whole request line in memory.
func methodOf(r *http.Request, known []string) string {
	method := cmp.Or(r.Method, http.MethodGet)
	for _, k := range known {
		if k == method {
			return k
		}
	}
	return otherMethod
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

// errorType is error.type of an error: its own word for it or its type, behind what fmt.Errorf
// wrapped around it.
func errorType(err error) (name string) {
	if _, ok := record.Protect(
		func() { name = received.Text(semconv.ErrorType(err).Value.AsString()) }); !ok {
		name = reflect.TypeOf(err).String()
	}
	return name
}

// errorText is what an error says, without a URL in front, which may hold secrets. It may quote
// what a server sent.
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

// A carrier is a header that propagators read and write. It finds the usual names without spelling
// them anew each time.
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

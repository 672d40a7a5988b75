package otlp

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/perfline/perfline/internal/environ"
)

// headers returns the headers of every request. It returns an error for any invalid header, even in
// an overridden variable. Its errors contain no values.
func (c Config) headers(signal Signal, protocol string) (map[string]string, error) {
	chosen := c.Headers
	for _, name := range environ.OfSignal(signal.Variable, "HEADERS") {
		headers, ok := headersOf(environ.Get(name))
		ok = ok && environ.Duplicate(headers) == ""
		for key, value := range headers {
			ok = ok && environ.CanSend(protocol == GRPC, key, value)
		}
		if !ok {
			return nil, fmt.Errorf("exporter: %w", environ.Error(name))
		}
		if chosen == nil && len(headers) > 0 {
			chosen = headers
		}
	}
	if twice := environ.Duplicate(c.Headers); twice != "" {
		return nil, fmt.Errorf("exporter: Headers: %q comes twice: %s", twice, environ.HeaderRule)
	}
	for key, value := range c.Headers {
		if !environ.CanSend(protocol == GRPC, key, value) {
			const format = "exporter: Headers: %q cannot be sent: %s"
			return nil, fmt.Errorf(format, key, environ.HeaderRule)
		}
	}
	return chosen, nil
}

// headersOf parses headers in the format of W3C Baggage, with percent-encoded values. It returns
// false for malformed or repeated headers.
func headersOf(raw string) (map[string]string, bool) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(raw, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, escaped, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(escaped))
		if err != nil || !found {
			return nil, false
		}
		key = strings.TrimSpace(key)
		if _, twice := headers[key]; twice {
			return nil, false
		}
		headers[key] = value
	}
	return headers, true
}

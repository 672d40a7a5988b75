package otlp

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/perfline/perfline/internal/environ"
)

// headers returns the headers of every request. It refuses headers that cannot be sent, also where others win. Its
// errors have no values.
func (c Config) headers(signal Signal, protocol string) (map[string]string, error) {
	chosen := c.Headers
	for _, name := range environ.OfSignal(signal.Variable, "HEADERS") {
		headers, ok := headersOf(environ.Get(name))
		for key, value := range headers {
			ok = ok && sendable(protocol, key, value)
		}
		if !ok {
			return nil, fmt.Errorf("exporter: %w", environ.Error(name))
		}
		if chosen == nil && len(headers) > 0 {
			chosen = headers
		}
	}
	for key, value := range c.Headers {
		if !sendable(protocol, key, value) {
			return nil, fmt.Errorf("exporter: Headers: %q cannot be sent: %s", key, environ.HeaderRule)
		}
	}
	return chosen, nil
}

// headersOf parses headers as OpenTelemetry's exporters do.
func headersOf(raw string) (map[string]string, bool) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(raw, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, escaped, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(escaped)
		if err != nil || !found {
			return nil, false
		}
		headers[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return headers, true
}

// sendable reports whether the protocol's implementation sends a header. A request with another one fails.
func sendable(protocol, key, value string) bool {
	if !environ.IsToken(key) {
		return false
	}
	if protocol == HTTP {
		return environ.Sendable(value)
	}
	key = strings.ToLower(key)
	if strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	}) {
		return false
	}
	return strings.HasSuffix(key, "-bin") || !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' })
}

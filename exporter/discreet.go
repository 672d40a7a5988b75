package exporter

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/internal/text"
)

// maxError is how many bytes of an exporter's error are shown: OpenTelemetry's quote whole
// answers, of megabytes perhaps.
const maxError = 1 << 10

// answers are what comes back from a backend, as errors say it: anything, also what it was sent.
type answers struct {
	hidden *strings.Replacer // takes secrets out; nil: there are none
}

// answers are those of the backend of a signal as the variables spell it.
func (c Config) answers(signal string) answers {
	secrets := slices.Collect(maps.Values(c.Headers))
	for _, name := range variables(signal, "HEADERS") {
		for pair := range strings.SplitSeq(os.Getenv(name), ",") {
			_, value, _ := strings.Cut(pair, "=")
			secrets = append(secrets, strings.TrimSpace(value))
			if plain, err := url.PathUnescape(value); err == nil {
				secrets = append(secrets, strings.TrimSpace(plain))
			}
		}
	}
	return answers{secret.Hide(secrets...)}
}

// discreet is err as it may be printed. What need not change stays the error that it is.
func (a answers) discreet(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	shown := said
	if a.hidden != nil {
		shown = a.hidden.Replace(shown)
	}
	if shown = text.Cut(shown, maxError); shown == said {
		return err
	}
	return &discreetError{shown, err}
}

// A discreetError says less than the error that it is.
type discreetError struct {
	shown string
	err   error // not unwrapped: it says all
}

func (e *discreetError) Error() string        { return e.shown }
func (e *discreetError) Is(target error) bool { return errors.Is(e.err, target) }

// checkVariables refuses what OpenTelemetry's exporters would ignore, and print with the
// secrets in it: headers that are no list, endpoints that are no URLs, and keys in
// place of their files' names.
func checkVariables(signal string) error {
	for _, name := range variables(signal, "HEADERS") {
		raw := strings.TrimSpace(os.Getenv(name))
		if raw == "" {
			continue
		}
		for pair := range strings.SplitSeq(raw, ",") {
			if strings.TrimSpace(pair) == "" {
				continue
			}
			key, value, found := strings.Cut(pair, "=")
			if _, err := url.PathUnescape(value); err != nil || !found || !isToken(strings.TrimSpace(key)) {
				return fmt.Errorf("exporter: %s (%d bytes): must be name=value, separated by commas, where values have %%2C for a comma and %%25 for %%", name, len(raw))
			}
		}
	}
	for _, name := range variables(signal, "ENDPOINT") {
		raw := strings.TrimSpace(os.Getenv(name))
		if _, err := url.Parse(raw); err != nil {
			return fmt.Errorf("exporter: %s %q: must be a URL", name, secret.URL(raw))
		}
	}
	for _, what := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		for _, name := range variables(signal, what) {
			if raw := os.Getenv(name); strings.Contains(raw, "-----BEGIN") {
				return fmt.Errorf("exporter: %s (%d bytes): must be the name of a file, not what is in it", name, len(raw))
			}
		}
	}
	return nil
}

// variables are those that say something of a signal: its own and that of all.
func variables(signal, what string) [2]string {
	return [2]string{"OTEL_EXPORTER_OTLP_" + signal + "_" + what, "OTEL_EXPORTER_OTLP_" + what}
}

// isToken reports whether s can be a header's name (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

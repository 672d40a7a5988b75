package exporter

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/perfline/perfline/internal/environ"
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
	for _, name := range environ.OfSignal(signal, "HEADERS") {
		for pair := range strings.SplitSeq(environ.Raw(name), ",") {
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

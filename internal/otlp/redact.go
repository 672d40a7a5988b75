package otlp

import (
	"cmp"
	"encoding/base64"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/perfline/perfline/internal/environ"
	"github.com/perfline/perfline/internal/secret"
	"github.com/perfline/perfline/internal/text"
)

// maxText is how many bytes of a receiver's text are shown. Receivers may answer with megabytes.
const maxText = 1 << 10

// A redactor makes the texts of a receiver fit to be printed. They may contain anything, also the
// secrets that we sent.
type redactor struct {
	secrets *strings.Replacer // removes secrets; nil if there are none
}

// redactor returns a redactor of the headers of c and of the signal's variables, and of the secrets
// in the endpoint.
func (c Config) redactor(signal Signal, endpoint *url.URL) redactor {
	secrets := slices.Collect(maps.Values(c.Headers))
	for _, name := range environ.OfSignal(signal.Variable, "HEADERS") {
		for pair := range strings.SplitSeq(environ.Raw(name), ",") {
			_, value, _ := strings.Cut(pair, "=")
			secrets = append(secrets, strings.TrimSpace(value))
			if plain, err := url.PathUnescape(value); err == nil {
				secrets = append(secrets, strings.TrimSpace(plain))
			}
		}
	}
	if user := endpoint.User; user != nil { // net/http sends it as basic authentication
		password, _ := user.Password()
		secrets = append(secrets,
			base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)),
			cmp.Or(password, user.Username()))
	}
	for _, values := range endpoint.Query() {
		secrets = append(secrets, values...)
	}
	return redactor{secret.Hide(secrets...)}
}

// redact returns s without secrets and control characters, and of bounded length.
func (r redactor) redact(s string) string {
	if r.secrets != nil {
		s = r.secrets.Replace(s)
	}
	s = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, s)
	return text.Cut(s, maxText)
}

// Redact returns err with a text that may be printed. It returns err itself if the text need not
// change.
func (r redactor) Redact(err error) error {
	if err == nil {
		return nil
	}
	original := err.Error()
	redacted := r.redact(original)
	if redacted == original {
		return err
	}
	return &redactedError{redacted, err}
}

// A redactedError has the redacted text of an error.
type redactedError struct {
	text string
	err  error // not unwrapped: its text has secrets
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

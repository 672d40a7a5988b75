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

// maxText bounds the printed text of a receiver, in bytes. Receivers may answer with megabytes.
const maxText = 1 << 10

// A redactor makes the texts of a receiver printable, and removes the secrets that a receiver may
// echo.
type redactor struct {
	secrets *strings.Replacer // removes secrets; nil without secrets
}

// redactor returns a redactor of the headers in c and in the signal's variables, and of the
// endpoint's secrets.
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
	if user := endpoint.User; user != nil { // net/http sends the user as basic authentication
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

// redact returns s without secrets and control characters, in at most maxText bytes.
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

// Redact replaces the text of err with a printable text without secrets, of at most maxText bytes.
// If the text of err needs no change, Redact returns err.
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

// A redactedError replaces the text of an error.
type redactedError struct {
	text string
	err  error // not unwrapped, because its text contains secrets
}

func (e *redactedError) Error() string        { return e.text }
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

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

// answers makes the texts of a receiver fit to be printed. They may have anything, also the secrets that it was sent.
type answers struct {
	hidden *strings.Replacer // takes secrets out; nil: there are none
}

// answers hides the headers of c and of the signal's variables, and the secrets in the endpoint.
func (c Config) answers(signal Signal, endpoint *url.URL) answers {
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
		secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)), cmp.Or(password, user.Username()))
	}
	for _, values := range endpoint.Query() {
		secrets = append(secrets, values...)
	}
	return answers{secret.Hide(secrets...)}
}

// shown returns said as it may be printed.
func (a answers) shown(said string) string {
	if a.hidden != nil {
		said = a.hidden.Replace(said)
	}
	said = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, said)
	return text.Cut(said, maxText)
}

// Discreet returns err as it may be printed. An error that need not change is returned itself.
func (a answers) Discreet(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	shown := a.shown(said)
	if shown == said {
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

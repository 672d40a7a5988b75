// Package secret keeps secrets out of what is printed: logs, errors and configurations.
package secret

import (
	"net/url"
	"slices"
	"strings"
)

const (
	shown = "xxxxx" // in place of a secret, as net/url has it
	// bytes of a secret that is looked for: a shorter one may be part of any word
	shortest = 4
)

// URL leaves the scheme, the host and the path of what should be a URL, however it is
// written. A user goes as well: it is a token often.
func URL(raw string) string {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	if err == nil && u.Host != "" {
		// A password that is not escaped may end the host too soon, with what is left of it and
		// an @ behind.
		if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
			return u.Scheme + "://…"
		}
		return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	if i := strings.LastIndex(raw, "@"); i >= 0 { // first: a password may hold anything
		if strings.ContainsAny(raw[:i], "?#") { // or a query may have an @
			return "…"
		}
		raw = "…" + raw[i:]
	}
	if i := strings.IndexAny(raw, "?#"); i >= 0 {
		raw = raw[:i]
	}
	return raw
}

// InURL are the secrets in a URL: user, password, and the values of its query.
func InURL(raw string) (secrets []string) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return []string{raw}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, u.User.Username(), password)
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	return secrets
}

// Hide returns a replacer that removes secrets from a text of others, such as a server's answer
// that quotes its request. The last word of a secret of several words ("Bearer …") is a secret,
// too. Secrets of less than four bytes stay.
func Hide(secrets ...string) *strings.Replacer {
	all := slices.Clone(secrets)
	for _, s := range secrets {
		if words := strings.Fields(s); len(words) > 1 {
			all = append(all, words[len(words)-1])
		}
	}
	// one may be part of another
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range all {
		if len(s) >= shortest {
			pairs = append(pairs, s, shown)
		}
	}
	return strings.NewReplacer(pairs...)
}

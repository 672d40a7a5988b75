// Package secret removes secrets from logs, errors and printed configurations.
package secret

import (
	"net/url"
	"slices"
	"strings"
)

const (
	mask    = "xxxxx" // as in net/url
	minimum = 4       // bytes of a secret: a shorter secret may be part of any word
)

// URL returns the scheme, the host and the path of a URL. URL drops the user, because many user
// names are tokens. URL also drops the query. raw may be malformed.
func URL(raw string) string {
	raw = strings.TrimSpace(raw)
	u, err := url.Parse(raw)
	if err == nil && u.Host != "" {
		// A password with an unescaped slash ends the host early. The rest of the password and an @
		// are in the other parts then.
		if strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
			return u.Scheme + "://…"
		}
		return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
	}
	if i := strings.LastIndex(raw, "@"); i >= 0 { // first: a password may have any character
		if strings.ContainsAny(raw[:i], "?#") { // the @ may belong to a query
			return "…"
		}
		raw = "…" + raw[i:]
	}
	if i := strings.IndexAny(raw, "?#"); i >= 0 {
		raw = raw[:i]
	}
	return raw
}

// InURL returns the secrets in a URL: the user, the password and the values of the query. If raw is
// malformed, InURL returns raw.
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

// Hide returns a replacer that masks secrets in text from other programs. For example, a server's
// answer may quote the request. The replacer also masks the last word of a secret with spaces
// ("Bearer …"). The replacer does not mask secrets of less than four bytes.
func Hide(secrets ...string) *strings.Replacer {
	all := slices.Clone(secrets)
	for _, s := range secrets {
		if words := strings.Fields(s); len(words) > 1 {
			all = append(all, words[len(words)-1])
		}
	}
	// The longest secret first: a secret may be part of another secret.
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range all {
		if len(s) >= minimum {
			pairs = append(pairs, s, mask)
		}
	}
	return strings.NewReplacer(pairs...)
}

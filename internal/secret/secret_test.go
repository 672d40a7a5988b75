package secret_test

import (
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/secret"
)

func TestURL(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"no secret", "https://h:4317/v1/traces", "https://h:4317/v1/traces"},
		{"user and password", "https://user:hunter2@h:4317", "https://h:4317"},
		{"a token as the user", "https://hunter2@h/x", "https://h/x"},
		{"query and fragment", " https://h/x?token=hunter2#hunter2 ", "https://h/x"},
		{"a port that is none", "https://user:hunter2@h:port", "…@h:port"},
		{"no scheme", "user:hunter2@h:4317/x", "…@h:4317/x"},
		{"no scheme, a query", "h:4317/x?token=hunter2", "h:4317/x"},
		{"no host", "localhost:4317", "localhost:4317"},
		{"a password with @", "https://user:hunter2@hunter2@h", "https://h"},
		{"a password with /", "https://user:hun/hunter2@h", "…@h"},
		{"a password of digits with /", "https://user:12/hunter2@h", "https://…"},
		{"a password of digits with ?", "https://user:12?hunter2@h", "https://…"},
		{"a password of digits with #", "https://user:12#hunter2@h", "https://…"},
		{"a query with @", "https://h/x?user=a@b.c&token=hunter2", "https://…"},
		{"no scheme, a query with @", "h:4317/x?user=a@b.c&token=hunter2", "…"},
		{"a password with %", "https://user:hunter2%zz@h", "…@h"},
		{"empty", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := secret.URL(c.raw); got != c.want {
				t.Errorf("%q is shown as %q, want %q", c.raw, got, c.want)
			}
		})
	}
}

func FuzzURL(f *testing.F) {
	f.Add("https://user:", "@h/x?y#z")
	f.Add("user:12/", "?@h")
	f.Add("https://h/x?token=", "&y")
	f.Fuzz(func(t *testing.T, before, after string) {
		const canary = "hunter2"
		if got := secret.URL(before + canary + "@" + after); strings.Contains(got, canary) {
			t.Errorf("what is before an @ is shown: %q", got)
		}
	})
}

func TestHide(t *testing.T) {
	secrets := []string{`quo"ted`, "secr", "secretlong", "abc", "", "Bearer t0ken"}
	secrets = append(secrets, secret.InURL("http://user:addresspass@h/?token=querytoken")...)
	hidden := secret.Hide(append(secrets, secret.InURL("http://u:%zz@h")...)...)
	for said, want := range map[string]string{
		`no quo"ted here`:         "no xxxxx here",
		"secretlong and secr":     "xxxxx and xxxxx",
		"addresspass, querytoken": "xxxxx, xxxxx",
		"user":                    "xxxxx",
		"abcdef":                  "abcdef",
		"Bearer t0ken, not t0ken": "xxxxx, not xxxxx",
		"Bearer":                  "Bearer",
		`parse "http://u:%zz@h"`:  `parse "xxxxx"`,
	} {
		if got := hidden.Replace(said); got != want {
			t.Errorf("of %q is shown %q, want %q", said, got, want)
		}
	}
}

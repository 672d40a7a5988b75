package text_test

import (
	"testing"

	"github.com/perfline/perfline/internal/text"
)

func TestValid(t *testing.T) {
	for _, c := range []struct{ name, s, want string }{
		{"empty", "", ""},
		{"UTF-8", "a\uFFFDü😀", "a\uFFFDü😀"},
		{"one byte", "a\xffb", "a\uFFFDb"},
		{"several in a row", "\xff\xfe\xc3", "\uFFFD"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text.Valid(c.s); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

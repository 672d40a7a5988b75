package text_test

import (
	"testing"

	"github.com/perfline/perfline/internal/text"
)

func TestFunction(t *testing.T) {
	for function, want := range map[string]string{
		"main.work":                             "main.work",
		"example.com/v1.2/store.flush":          "store.flush",
		"example.com/v1.2/store.(*Store).flush": "(*Store).flush",
		"a/b.sum[example.com/a.T]":              "b.sum[example.com/a.T]",
		"a/":                                    "",
	} {
		if got := text.Function(function); got != want {
			t.Errorf("Function(%q) is %q, want %q", function, got, want)
		}
	}
}

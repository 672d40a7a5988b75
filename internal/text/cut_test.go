package text_test

import (
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/text"
)

func TestCut(t *testing.T) {
	for _, c := range []struct {
		name, s string
		limit   int
		want    string
	}{
		{"short", "abc", 5, "abc"},
		{"as long as may be", "abcde", 5, "abcde"},
		{"long", "abcdef", 5, "ab…"},
		{"within two bytes", "aéééé", 5, "a…"},
		{"after them", "aéééé", 6, "aé…"},
		{"within four bytes", "😀😀😀", 10, "😀…"},
		{"room for nothing", "😀😀", 4, "…"},
		{"continuations of nothing", strings.Repeat("\x80", 20), 10, strings.Repeat("\x80", 4) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text.Cut(c.s, c.limit); got != c.want || len(got) > c.limit {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestStart(t *testing.T) {
	for _, c := range []struct {
		name, s string
		limit   int
		want    string
	}{
		{"as long as may be", "abc", 3, "abc"},
		{"long", "abcd", 3, "abc"},
		{"within a character", "aé", 2, "a"},
		{"room for nothing", "é", 1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := text.Start(c.s, c.limit); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

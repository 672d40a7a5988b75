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

func TestQualified(t *testing.T) {
	for function, want := range map[string]string{
		"google.golang.org/grpc.(*ClientConn).Invoke": "grpc.(*ClientConn).Invoke",
		"github.com/redis/go-redis/v9.(*Client).Get":  "go-redis.(*Client).Get",
		"gopkg.in/yaml%2ev3.Unmarshal":                "yaml.v3.Unmarshal",
		"modernc.org/sqlite.(*conn).exec":             "sqlite.(*conn).exec",
		"a/b.sum[example.com/a.T]":                    "b.sum[example.com/a.T]",
		"v2.work":                                     "v2.work",
		"a/":                                          "a/",
		"main.work":                                   "main.work",
		"\ue000":                                      "\ue000",
		"":                                            "",
	} {
		if got := text.Qualified(function); got != want {
			t.Errorf("Qualified(%q) is %q, want %q", function, got, want)
		}
	}
}

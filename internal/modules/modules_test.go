package modules_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/modules"
)

var shop = modules.New("example.com/shop",
	modules.Module{Kind: modules.Dependency, Path: "example.com/lib", Version: "v1.0.0"},
	modules.Module{Kind: modules.Dependency, Path: "example.com/shop/tools/api", Version: "v0.1.0"},
	modules.Module{Kind: modules.Dependency, Path: "example.com/lib/v2", Version: "v2.0.0"},
	modules.Module{Kind: modules.Dependency, Path: "gopkg.in/yaml.v3", Version: "v3.0.1"})

// The program's own functions are of the main module, and of the packages below the configured paths.
func TestOwn(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    *modules.Set
		paths []string
		own   string // functions of the program
		other string // functions of others
	}{
		{"main module", shop, nil, "main.main example.com/shop/store.F", "example.com/lib.F example.com/shop/tools/api.Call runtime.mallocgc"},
		{"several modules", shop, []string{"example.com/lib"}, "main.main example.com/lib.F example.com/lib/v2.F", "gopkg.in/yaml%2ev3.Unmarshal"},
		{"names of the policy", shop, []string{"main", "std", "*"}, "main.main", "example.com/lib.F runtime.mallocgc"},
		{"no build information", modules.New(""), nil, "main.main", "example.com/shop/store.F example.com/lib.F"},
		{"no build information, with a path", modules.New(""), []string{"example.com/shop"}, "main.main example.com/shop/store.F", "example.com/shopping.F"},
	} {
		own := c.of.Own(c.paths)
		for _, f := range strings.Fields(c.own) {
			if !own(f) {
				t.Errorf("%s: %s is not the program's", c.name, f)
			}
		}
		for _, f := range strings.Fields(c.other) {
			if own(f) {
				t.Errorf("%s: %s is the program's", c.name, f)
			}
		}
	}
}

// The origin of a frame is the module of its function.
func TestModuleOfFunction_JSP13(t *testing.T) {
	for function, want := range map[string]string{
		"main.main":                                     "example.com/shop",
		"main.(*server).serve.func1":                    "example.com/shop",
		"example.com/shop.Run":                          "example.com/shop",
		"example.com/shop/store.(*DB).Get":              "example.com/shop",
		"example.com/shop/tools/api.Call":               "example.com/shop/tools/api v0.1.0", // a nested module
		"example.com/shopping.Run":                      "",                                  // no module of the program's
		"example.com/lib.F":                             "example.com/lib v1.0.0",
		"example.com/lib/v2.F":                          "example.com/lib/v2 v2.0.0",
		"example.com/lib/v2/inner.Map[go.shape.string]": "example.com/lib/v2 v2.0.0",
		"example.com/lib.Map[example.com/lib/v2.T]":     "example.com/lib v1.0.0",
		"gopkg.in/yaml%2ev3.Unmarshal":                  "gopkg.in/yaml.v3 v3.0.1",
		"runtime.mallocgc":                              "std " + runtime.Version(),
		"net/http.(*conn).serve":                        "std " + runtime.Version(),
		"internal/runtime/maps.(*Map).Get":              "std " + runtime.Version(),
		"vendor/golang.org/x/net/http2.f":               "std " + runtime.Version(),
		"unknown":                                       "",
		"":                                              "",
	} {
		m := shop.Of(function)
		got := m.Path
		if m.Version != "" {
			got += " " + m.Version
		}
		if got != want {
			t.Errorf("%q is of module %q, want %q", function, got, want)
		}
	}
}

func TestKind(t *testing.T) {
	for function, want := range map[string]modules.Kind{
		"main.main": modules.Main, "example.com/shop/store.F": modules.Main, "runtime.mallocgc": modules.Standard,
		"example.com/lib.F": modules.Dependency, "example.com/other.F": modules.Unknown, "": modules.Unknown,
	} {
		if got := shop.Of(function).Kind; got != want {
			t.Errorf("%q is of kind %d, want %d", function, got, want)
		}
	}
	if m := modules.New("").Of("main.main"); m.Kind != modules.Main || m.Path != "main" {
		t.Errorf("a program without a known path has the main module %+v", m)
	}
	if m := modules.Read().Of("github.com/perfline/perfline/observer.Now"); m.Kind != modules.Main || m.Path != "github.com/perfline/perfline" {
		t.Errorf("a function of this module is of %+v", m)
	}
}

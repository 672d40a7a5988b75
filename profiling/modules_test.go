package profiling

import (
	"strings"
	"testing"

	"github.com/perfline/perfline/profiling/profile"
)

var shop = &modules{main: "example.com/shop", deps: []string{"example.com/shop/tools/api", "example.com/lib/v2", "example.com/lib", "gopkg.in/yaml.v3"}}

// The origin of a frame is the module of its function.
func TestModuleOfFunction_JSP13(t *testing.T) {
	for function, want := range map[string]string{
		"main.main":                                     ModuleMain,
		"main.(*server).serve.func1":                    ModuleMain,
		"example.com/shop.Run":                          ModuleMain,
		"example.com/shop/store.(*DB).Get":              ModuleMain,
		"example.com/shop/tools/api.Call":               "example.com/shop/tools/api", // a nested module
		"example.com/shopping.Run":                      "",                           // no module of the program's
		"example.com/lib.F":                             "example.com/lib",
		"example.com/lib/v2.F":                          "example.com/lib/v2",
		"example.com/lib/v2/inner.Map[go.shape.string]": "example.com/lib/v2",
		"example.com/lib.Map[example.com/lib/v2.T]":     "example.com/lib",
		"gopkg.in/yaml%2ev3.Unmarshal":                  "gopkg.in/yaml.v3",
		"runtime.mallocgc":                              ModuleStandard,
		"net/http.(*conn).serve":                        ModuleStandard,
		"internal/runtime/maps.(*Map).Get":              ModuleStandard,
		"vendor/golang.org/x/net/http2.f":               ModuleStandard,
		"unknown":                                       "",
		"":                                              "",
	} {
		if got := shop.of(packageOf(function)); got != want {
			t.Errorf("%q is of module %q, want %q", function, got, want)
		}
	}
}

func TestFilter_JSP13(t *testing.T) {
	for _, tt := range []struct {
		name      string
		modules   *modules
		names     []string
		keep, not []string
	}{
		{"the main module", shop, []string{ModuleMain}, []string{"main.main", "example.com/shop/store.F"}, []string{"fmt.Println", "example.com/lib.F"}},
		{"the main module by its path", shop, []string{"example.com/shop"}, []string{"main.main", "example.com/shop.F"}, []string{"example.com/shop/tools/api.F"}},
		{"the standard library", shop, []string{ModuleStandard}, []string{"fmt.Println", "runtime.main"}, []string{"main.main", "gopkg.in/yaml%2ev3.F"}},
		{"a dependency", shop, []string{"example.com/lib"}, []string{"example.com/lib/x.F"}, []string{"example.com/lib/v2.F", "main.main"}},
		{"a test's binary, which does not know its modules", &modules{main: "example.com/shop"}, []string{"example.com/lib"}, []string{"example.com/lib/x.F"}, []string{"main.main", "fmt.Println", "example.com/library.F"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keep, err := tt.modules.filter(tt.names)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range tt.keep {
				if !keep(&profile.Call{Name: f}) {
					t.Errorf("%s is left out", f)
				}
			}
			for _, f := range tt.not {
				if keep(&profile.Call{Name: f}) {
					t.Errorf("%s is kept", f)
				}
			}
		})
	}
	if keep, err := shop.filter(nil); keep != nil || err != nil {
		t.Errorf("no names: a filter, or error %v; want neither", err)
	}
	if _, err := shop.filter([]string{"example.com/none"}); err == nil || !strings.Contains(err.Error(), `"example.com/none"`) || !strings.Contains(err.Error(), "must be") {
		t.Errorf("a module that is not there: error %v, want one that names it and the rule", err)
	}
}

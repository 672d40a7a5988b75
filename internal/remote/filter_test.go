package remote

import (
	"strings"
	"testing"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/profiling/profile"
)

var shop = modules.New("example.com/shop",
	modules.Module{Kind: modules.Dependency, Path: "example.com/shop/tools/api"}, modules.Module{Kind: modules.Dependency, Path: "example.com/lib/v2"},
	modules.Module{Kind: modules.Dependency, Path: "example.com/lib"}, modules.Module{Kind: modules.Dependency, Path: "gopkg.in/yaml.v3"})

func TestFilter_JSP13(t *testing.T) {
	for _, tt := range []struct {
		name      string
		modules   *modules.Set
		names     []string
		keep, not []string
	}{
		{"the main module", shop, []string{Main}, []string{"main.main", "example.com/shop/store.F"}, []string{"fmt.Println", "example.com/lib.F"}},
		{"the main module by its path", shop, []string{"example.com/shop"}, []string{"main.main", "example.com/shop.F"}, []string{"example.com/shop/tools/api.F"}},
		{"the standard library", shop, []string{Standard}, []string{"fmt.Println", "runtime.main"}, []string{"main.main", "gopkg.in/yaml%2ev3.F"}},
		{"a dependency", shop, []string{"example.com/lib"}, []string{"example.com/lib/x.F"}, []string{"example.com/lib/v2.F", "main.main"}},
		{"a test's binary, which does not know its modules", modules.New("example.com/shop"), []string{"example.com/lib"}, []string{"example.com/lib/x.F"}, []string{"main.main", "fmt.Println", "example.com/library.F"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keep, err := Filter(tt.modules, tt.names)
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
	if keep, err := Filter(shop, nil); keep != nil || err != nil {
		t.Errorf("no names: a filter, or error %v; want neither", err)
	}
	if _, err := Filter(shop, []string{"example.com/none"}); err == nil || !strings.Contains(err.Error(), `"example.com/none"`) || !strings.Contains(err.Error(), "must be") {
		t.Errorf("a module that is not there: error %v, want one that names it and the rule", err)
	}
}

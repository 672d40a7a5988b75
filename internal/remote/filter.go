package remote

import (
	"fmt"
	"slices"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/profiling/profile"
)

// Names in place of module paths, as package profiling documents them.
const (
	Main     = "main"
	Standard = "std"
	Any      = "*"
)

// Filter returns a function that reports whether a frame belongs to the named modules. Without
// names, Filter returns nil. Filter returns an error for [Any], and for a module that the program
// does not contain.
func Filter(of *modules.Set, names []string) (func(*profile.Call) bool, error) {
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // nil means no filter
	}
	if err := checkAny(names); err != nil {
		return nil, err
	}
	for _, n := range names {
		// Before Go 1.27, the binary of a test lists no dependencies.
		if n != Main && n != Standard && n != of.Main() && of.Dependencies() > 0 && !of.Has(n) {
			return nil, fmt.Errorf("profiling: Modules: %q is not a module of this program: "+
				"must be %s, %s or the path of one that it was built from", n, Main, Standard)
		}
	}
	return func(c *profile.Call) bool {
		switch m := of.Of(c.Name); m.Kind {
		case modules.Main:
			return slices.Contains(names, Main) ||
				of.Main() != "" && slices.Contains(names, of.Main())
		case modules.Standard:
			return slices.Contains(names, Standard)
		case modules.Dependency:
			return slices.Contains(names, m.Path)
		default:
			pkg := modules.Package(c.Name)
			return slices.ContainsFunc(names, func(n string) bool { return modules.Within(pkg, n) })
		}
	}, nil
}

// checkAny returns an error for Any, which only a policy may contain.
func checkAny(names []string) error {
	if slices.Contains(names, Any) {
		return fmt.Errorf("profiling: Modules: %q is for a Policy only: name no modules, for all that are allowed", Any)
	}
	return nil
}

package profiling

import (
	"fmt"
	"slices"

	"github.com/perfline/perfline/internal/modules"
	"github.com/perfline/perfline/profiling/profile"
)

// Names for [Options].Modules beside the paths of modules.
const (
	ModuleMain     = "main" // the program's main module
	ModuleStandard = "std"  // the standard library, the runtime included
	ModuleAny      = "*"    // in a [Policy] only: all modules
)

// filter returns a function that keeps the frames of the named modules. It returns nil to keep all.
func filter(of *modules.Set, names []string) (func(*profile.Call) bool, error) {
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // nil means that nothing is filtered
	}
	if err := checkAny(names); err != nil {
		return nil, err
	}
	for _, n := range names {
		// Before Go 1.27 the binary of a test knows none of its modules.
		if n != ModuleMain && n != ModuleStandard && n != of.Main() && of.Dependencies() > 0 &&
			!of.Has(n) {
			return nil, fmt.Errorf(
				"profiling: Modules: %q is not a module of this program: must be %s, %s or the path of one that it was built from", n, ModuleMain, ModuleStandard)
		}
	}
	return func(c *profile.Call) bool {
		switch m := of.Of(c.Name); m.Kind {
		case modules.Main:
			return slices.Contains(names, ModuleMain) || of.Main() != "" &&
				slices.Contains(names, of.Main())
		case modules.Standard:
			return slices.Contains(names, ModuleStandard)
		case modules.Dependency:
			return slices.Contains(names, m.Path)
		default:
			pkg := modules.Package(c.Name)
			return slices.ContainsFunc(names, func(n string) bool { return modules.Within(pkg, n) })
		}
	}, nil
}

// checkAny returns an error for ModuleAny in Options.
func checkAny(names []string) error {
	if slices.Contains(names, ModuleAny) {
		return fmt.Errorf("profiling: Modules: %q is for a Policy only: name no modules, for all that are allowed", ModuleAny)
	}
	return nil
}

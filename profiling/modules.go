package profiling

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/perfline/perfline/profiling/profile"
)

// Names for [Options].Modules beside the paths of modules.
const (
	ModuleMain     = "main" // the program's main module
	ModuleStandard = "std"  // the standard library, the runtime included
	ModuleAny      = "*"    // in a [Policy] only: all modules
)

// modules are the modules that the program was built from. The origin of a frame
// (JS Self-Profiling, Note on script origins) is the module of its function.
type modules struct {
	main string
	deps []string // the longest path first
}

var readModules = sync.OnceValue(func() *modules {
	var m modules
	if info, ok := debug.ReadBuildInfo(); ok {
		m.main = info.Main.Path
		for _, d := range info.Deps {
			m.deps = append(m.deps, d.Path)
		}
	}
	slices.SortFunc(m.deps, func(a, b string) int { return len(b) - len(a) })
	return &m
})

// of is the module that a package belongs to: ModuleMain, ModuleStandard or a path,
// "" when it cannot be told.
func (m *modules) of(pkg string) string {
	if pkg == "main" || within(pkg, m.main) && !slices.ContainsFunc(m.deps, func(d string) bool { return len(d) > len(m.main) && within(pkg, d) }) {
		return ModuleMain
	}
	for _, d := range m.deps {
		if within(pkg, d) {
			return d
		}
	}
	// Only the standard library's paths begin with an element that is no domain.
	if first, _, _ := strings.Cut(pkg, "/"); pkg != "" && !strings.Contains(first, ".") {
		return ModuleStandard
	}
	return ""
}

// packageOf is the import path of a function's package, "" when the name has none.
func packageOf(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 { // type arguments have paths of their own
		name = name[:i]
	}
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		// The linker escapes dots in the last element of a path.
		return strings.ReplaceAll(name[:slash+dot], "%2e", ".")
	}
	return ""
}

// checkAny returns an error for ModuleAny in Options.
func checkAny(names []string) error {
	if slices.Contains(names, ModuleAny) {
		return fmt.Errorf("profiling: Modules: %q is for a Policy only: name no modules, for all that are allowed", ModuleAny)
	}
	return nil
}

func within(pkg, module string) bool {
	return module != "" && strings.HasPrefix(pkg, module) && (len(pkg) == len(module) || pkg[len(module)] == '/')
}

// filter is what keeps the frames of the modules named, nil for all.
func (m *modules) filter(names []string) (func(*profile.Call) bool, error) {
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // nil means that nothing is filtered
	}
	if err := checkAny(names); err != nil {
		return nil, err
	}
	for _, n := range names {
		// The binary of a test knows none of its modules.
		if n != ModuleMain && n != ModuleStandard && n != m.main && len(m.deps) > 0 && !slices.Contains(m.deps, n) {
			return nil, fmt.Errorf("profiling: Modules: %q is not a module of this program: must be %s, %s or the path of one that it was built from", n, ModuleMain, ModuleStandard)
		}
	}
	return func(c *profile.Call) bool {
		pkg := packageOf(c.Name)
		switch of := m.of(pkg); of {
		case ModuleMain:
			return slices.Contains(names, ModuleMain) || slices.Contains(names, m.main)
		case "":
			return slices.ContainsFunc(names, func(n string) bool { return within(pkg, n) })
		default:
			return slices.Contains(names, of)
		}
	}, nil
}

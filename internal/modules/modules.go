// Package modules finds the module of a function by name, and the version of a module.
//
//	m := modules.Read().Of("net/http.(*conn).serve") // {Standard, "std", "go1.26.8"}
package modules

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// A Kind is the origin of a module.
type Kind uint8

// The kinds.
const (
	Unknown    Kind = iota // the name contains no package, or no module contains the package
	Main                   // the program's main module
	Standard               // the standard library, the runtime included
	Dependency             // another module
)

// A Module is a module of the program.
type Module struct {
	Kind Kind
	// Path is the module's path. The path is "std" for the standard library, and "main" for a main
	// module without a known path.
	Path    string
	Version string // such as "v1.2.3"; for Standard, the Go release; "" if unknown
}

// A Set contains the modules of a program.
type Set struct {
	main         string
	mainVersion  string
	dependencies []Module // the longest path first
}

// Read returns the modules of this program. In the binary of a test, Read returns only the main
// module.
var Read = sync.OnceValue(func() *Set {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return New("")
	}
	var all []Module
	for _, d := range info.Deps {
		m := Module{Dependency, d.Path, d.Version}
		if d.Replace != nil {
			m.Version = d.Replace.Version
		}
		all = append(all, m)
	}
	s := New(info.Main.Path, all...)
	s.mainVersion = info.Main.Version
	return s
})

// Version returns the version of a module in this program. Version returns "" in these cases:
//   - The program does not contain the module.
//   - A folder or another module replaces the module.
//   - The program was built in the source of the module, without a known version.
func Version(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return versionIn(info, path)
}

func versionIn(info *debug.BuildInfo, path string) string {
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == path && m.Version != "(devel)" && m.Replace == nil {
			return m.Version
		}
	}
	return ""
}

// New returns a Set with a main module and dependencies.
func New(main string, dependencies ...Module) *Set {
	s := &Set{main: main, dependencies: slices.Clone(dependencies)}
	slices.SortFunc(s.dependencies, func(a, b Module) int { return len(b.Path) - len(a.Path) })
	return s
}

// Main returns the path of the main module, or "" if the path is unknown.
func (s *Set) Main() string { return s.main }

// Dependencies returns the number of dependencies.
func (s *Set) Dependencies() int { return len(s.dependencies) }

// Has reports whether path is the path of a dependency.
func (s *Set) Has(path string) bool {
	return slices.ContainsFunc(s.dependencies, func(d Module) bool { return d.Path == path })
}

// Of returns the module of a function. function is the runtime's name for the function, such as
// "net/http.(*conn).serve". Of returns the zero Module if the module is unknown.
func (s *Set) Of(function string) Module {
	pkg := Package(function)
	own := s.contains(pkg)
	for _, d := range s.dependencies {
		if Within(pkg, d.Path) && (!own || len(d.Path) > len(s.main)) {
			return d
		}
	}
	if own {
		return Module{Main, cmp.Or(s.main, "main"), s.mainVersion}
	}
	if IsStandard(pkg) {
		return Module{Standard, "std", runtime.Version()}
	}
	return Module{}
}

// IsMain reports whether a function belongs to the main module. IsMain is faster than Of.
func (s *Set) IsMain(function string) bool {
	pkg := Package(function)
	return s.contains(pkg) && s.Of(function).Kind == Main
}

// contains reports whether a package is below the path of the main module, or is the external test
// of the main module's root package.
func (s *Set) contains(pkg string) bool {
	return pkg == "main" || Within(strings.TrimSuffix(pkg, "_test"), s.main)
}

// Own returns a function that reports whether a function belongs to the program itself: to the main
// module, or to a package in the folder of one of the paths. The paths name packages that build
// information lacks: the other modules of a program of many modules, or all packages of a program
// without build information. The result may be called concurrently.
func (s *Set) Own(paths []string) func(function string) bool {
	paths = slices.Clone(paths)
	return func(function string) bool {
		pkg := Package(function)
		return s.IsMain(function) ||
			slices.ContainsFunc(paths, func(path string) bool { return Within(pkg, path) })
	}
}

// Package returns the import path of a function's package. Package returns "" if the name contains
// no package.
func Package(function string) string {
	function, _, _ = strings.Cut(function, "[") // type arguments have paths of their own
	slash := strings.LastIndexByte(function, '/') + 1
	if dot := strings.IndexByte(function[slash:], '.'); dot >= 0 {
		// The linker escapes dots in the last element of a path.
		return strings.ReplaceAll(function[:slash+dot], "%2e", ".")
	}
	return ""
}

// Within reports whether a package belongs to the folder of a module. pkg and module are import
// paths.
func Within(pkg, module string) bool {
	return module != "" && strings.HasPrefix(pkg, module) &&
		(len(pkg) == len(module) || pkg[len(module)] == '/')
}

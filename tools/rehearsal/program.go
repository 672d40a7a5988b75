package main

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

var (
	//go:embed testdata/library_before.go.txt
	libraryBefore string
	//go:embed testdata/library_after.go.txt
	libraryAfter string
	//go:embed testdata/service.go.txt
	service string
	//go:embed testdata/outside.go.txt
	outside string
)

// A program is a module in a folder of its own, which gets perfline from a proxy.
type program struct {
	dir string
	env []string
}

// newProgram makes an empty module. An empty release means the go command's own. With -trimpath the
// build cache does not depend on the folder of the modules, which is new in each rehearsal.
func newProgram(ctx context.Context, p *proxy, name, release string) (*program, error) {
	s := &program{dir: filepath.Join(p.dir, name), env: append(os.Environ(),
		"GOPROXY="+p.url, "GOMODCACHE="+p.cache, "GONOSUMDB="+modulePath,
		"GOFLAGS=-mod=mod -trimpath", "GOWORK=off")}
	if release != "" {
		s.env = append(s.env, "GOTOOLCHAIN="+release)
	}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		return nil, err
	}
	return s, s.run(ctx, "mod", "init", "example.com/"+name)
}

// write writes the program's main.go.
func (s *program) write(content string) error {
	return os.WriteFile(filepath.Join(s.dir, "main.go"), []byte(content), 0o600)
}

// run runs a go command.
func (s *program) run(ctx context.Context, args ...string) error {
	_, err := s.output(ctx, args...)
	return err
}

// runs runs the program, which has to print a line.
func (s *program) runs(ctx context.Context, want string) error {
	got, err := s.output(ctx, "run", ".")
	if err == nil && strings.TrimSpace(got) != want {
		return fmt.Errorf("the program prints %q, want %q", got, want)
	}
	return err
}

func (s *program) output(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = s.dir, s.env
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, problems.String())
	}
	return string(out), nil
}

// A requirement is a line of a go.mod.
type requirement struct{ path, version string }

func (r requirement) String() string { return r.path + " " + r.version }

func (s *program) requirements() (map[requirement]bool, error) {
	content, err := os.ReadFile(filepath.Join(s.dir, "go.mod"))
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse("go.mod", content, nil)
	if err != nil {
		return nil, err
	}
	all := map[requirement]bool{{"go", mod.Go.Version}: true}
	for _, r := range mod.Require {
		all[requirement{r.Mod.Path, r.Mod.Version}] = true
	}
	return all, nil
}

// difference returns what only b has, in order.
func difference(a, b map[requirement]bool) []requirement {
	added := maps.Clone(b)
	maps.DeleteFunc(added, func(r requirement, _ bool) bool { return a[r] })
	return slices.SortedFunc(maps.Keys(added),
		func(x, y requirement) int { return strings.Compare(x.String(), y.String()) })
}

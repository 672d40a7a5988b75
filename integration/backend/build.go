// Package backend runs real backends for the integration tests. They
// are built from source, once for each machine, and started on free loopback
// ports.
package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// A program is what builds a backend.
type program struct {
	pkg    string // the program's package
	module string // the nested module of pkg, if it is ours; else pins/NAME.mod pins pkg's module
	flags  []string
}

var programs = map[string]program{
	"collector": {pkg: "github.com/perfline/perfline/integration/collector", module: "collector"},
	"jaeger":    {pkg: "github.com/jaegertracing/jaeger/cmd/jaeger"},
	// Without the discovery of services in many clouds, a build takes a few minutes less.
	"prometheus": {pkg: "github.com/prometheus/prometheus/cmd/prometheus",
		flags: []string{"-tags=remove_all_sd"}},
	"pyroscope":    {pkg: "github.com/grafana/pyroscope/cmd/pyroscope"},
	"victorialogs": {pkg: "github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs"},
}

// quick saves two fifths of a build's processor time, of Prometheus's at least. The tests need
// neither speed nor a debugger.
var quick = []string{"-gcflags=all=-l -dwarf=false", "-ldflags=-w"}

// Names returns the names of all backends.
func Names() []string { return slices.Sorted(maps.Keys(programs)) }

// Build builds backends, one after the other. The first build takes minutes each, and later ones
// take no time. Tests that have little time for a backend build it before. Otherwise, its Start
// builds it.
func Build(ctx context.Context, names ...string) error {
	for _, name := range names {
		if _, ok := programs[name]; !ok {
			return fmt.Errorf("backend %q: must be one of %s", name, strings.Join(Names(), ", "))
		}
		if _, err := build(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// source returns the folder for the build of p, the files that decide about the build, and the
// flags of go build. A pin is no module: the go command reads it in place of the go.mod of this
// module.
func (p program) source(name string) (dir string, files, flags []string, err error) {
	if dir, err = repository("integration", p.module); err != nil {
		return "", nil, nil, err
	}
	if p.module != "" {
		return dir, []string{filepath.Join(dir, "go.mod"), filepath.Join(dir, "go.sum"),
			filepath.Join(dir, "main.go")}, p.flags, nil
	}
	pin := filepath.Join(dir, "backend", "pins", name)
	return dir, []string{pin + ".mod", pin + ".sum"},
		append([]string{"-modfile=" + pin + ".mod"}, p.flags...), nil
}

// build builds a backend's program and returns the binary's path. The binary is kept in the user's
// cache folder, under a name that changes with the program's pins, flags and files and with Go's
// version.
func build(ctx context.Context, name string) (string, error) {
	p := programs[name]
	dir, files, flags, err := p.source(name)
	if err != nil {
		return "", fmt.Errorf("building %s: %w", p.pkg, err)
	}
	key := sha256.New()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		key.Write(data)
	}
	key.Write([]byte(runtime.Version() + strings.Join(slices.Concat(p.flags, quick), " ")))
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "perfline-backends")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	bin := filepath.Join(cache, filepath.Base(p.pkg)+"-"+hex.EncodeToString(key.Sum(nil)[:8]))
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	// Tests of several packages run at once: one of them builds, which takes all processors
	// anyway, and the others wait for it.
	lock := flock.New(bin + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another build of %s: %w", p.pkg, err)
	}
	defer lock.Close()
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	tmp, err := os.MkdirTemp(cache, "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "bin")
	cmd := exec.CommandContext(ctx, "go",
		slices.Concat([]string{"build"}, flags, quick, []string{"-o", out, p.pkg})...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s in %s: %w\n%s", p.pkg, dir, err, text)
	}
	return bin, os.Rename(out, bin)
}

// repository is the path of a file or folder of the repository.
func repository(elem ...string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", fmt.Errorf(
			"where the repository is cannot be told (built with -trimpath?): its %s is needed",
			filepath.Join(elem...))
	}
	return filepath.Join(append([]string{file, "..", "..", ".."}, elem...)...), nil
}

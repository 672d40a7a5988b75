// Package backend runs real backends for the integration tests. They
// are built from source, once for each machine, and started on free loopback
// ports.
package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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

// packages are the backends' programs, by the nested module that pins each (a folder beside this package's).
var packages = map[string]string{
	"collector":  "github.com/perfline/perfline/integration/collector",
	"jaeger":     "github.com/jaegertracing/jaeger/cmd/jaeger",
	"loki":       "github.com/grafana/loki/v3/cmd/loki",
	"prometheus": "github.com/prometheus/prometheus/cmd/prometheus",
	"pyroscope":  "github.com/grafana/pyroscope/cmd/pyroscope",
}

// buildFlags shorten builds that take minutes, by nested module. They leave out the service
// discovery of Prometheus in many clouds. For Loki they leave out optimization, which is a third
// of the compiler's work: a slower Loki is fast enough for tests.
var buildFlags = map[string][]string{
	"loki":       {"-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w"},
	"prometheus": {"-tags=remove_all_sd"},
}

// Names returns the names of all backends.
func Names() []string { return slices.Sorted(maps.Keys(packages)) }

// Build builds backends, one after the other. The first build takes minutes each, and later ones take no time. Tests that
// have little time for a backend build it before. Otherwise, its Start builds it.
func Build(ctx context.Context, names ...string) error {
	for _, name := range names {
		if packages[name] == "" {
			return fmt.Errorf("backend %q: must be one of %s", name, strings.Join(Names(), ", "))
		}
		if _, err := build(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// build builds a backend's program and returns the binary's path. The binary is kept in the user's cache folder,
// under a name that changes with the module's pins and files and with Go's version.
func build(ctx context.Context, name string) (string, error) {
	pkg, flags := packages[name], buildFlags[name]
	dir, err := repository("integration", name)
	if err != nil {
		return "", fmt.Errorf("building %s: %w", pkg, err)
	}
	key := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if name == "main.go" && errors.Is(err, fs.ErrNotExist) { // pkg is another module's
			continue
		}
		if err != nil {
			return "", err
		}
		key.Write(data)
	}
	key.Write([]byte(runtime.Version() + strings.Join(flags, " ")))
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "perfline-backends")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	bin := filepath.Join(cache, filepath.Base(pkg)+"-"+hex.EncodeToString(key.Sum(nil)[:8]))
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	// Tests of several packages run at once: one of them builds, which takes all processors
	// anyway, and the others wait for it.
	lock := flock.New(bin + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("waiting for another build of %s: %w", pkg, err)
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
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"build"}, flags...), "-o", out, pkg)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s in %s: %w\n%s", pkg, dir, err, text)
	}
	return bin, os.Rename(out, bin)
}

// repository is the path of a file or folder of the repository.
func repository(elem ...string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return "", fmt.Errorf("where the repository is cannot be told (built with -trimpath?): its %s is needed", filepath.Join(elem...))
	}
	return filepath.Join(append([]string{file, "..", "..", ".."}, elem...)...), nil
}

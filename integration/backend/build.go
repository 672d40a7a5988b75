// Package backend runs real backends for the integration tests. They
// are built from source, once for each machine, and started on free loopback
// ports.
package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// build builds pkg in the nested module dir (a folder beside this package's)
// and returns the binary's path. The binary is kept in the user's cache folder,
// under a name that changes with the module's pins and with Go's version.
func build(ctx context.Context, dir, pkg string) (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", fmt.Errorf("building %s: the source folder is not known (built with -trimpath?)", pkg)
	}
	dir = filepath.Join(filepath.Dir(filepath.Dir(file)), dir)
	key := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		key.Write(data)
	}
	key.Write([]byte(runtime.Version()))
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
	// Another test process may build at the same time: each its own file, and
	// the last rename wins.
	tmp, err := os.MkdirTemp(cache, "build")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	out := filepath.Join(tmp, "bin")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", out, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s in %s: %w\n%s", pkg, dir, err, text)
	}
	return bin, os.Rename(out, bin)
}

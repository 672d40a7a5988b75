// Package npm has what tests run that is written for node: viewers of perfline's files, and a
// checker of pages. Exact versions of all of it are in package-lock.json; nothing of it is part
// of perfline.
package npm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// Install installs what the lock file says beside it, unless that was done, and returns the folder
// node_modules. It needs npm (Debian's packages nodejs and npm). Several processes may call it at
// the same time.
func Install(ctx context.Context) (modules string, err error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", fmt.Errorf("npm: the source folder is not known (built with -trimpath?)")
	}
	dir := filepath.Dir(file)
	modules = filepath.Join(dir, "node_modules")
	want, err := os.ReadFile(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return "", err
	}
	lock, err := os.Open(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	defer lock.Close() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("npm: locking %s: %w", lock.Name(), err)
	}
	installed := filepath.Join(modules, "installed") // a copy of the lock file, written last
	if have, err := os.ReadFile(installed); err == nil && bytes.Equal(have, want) {
		return modules, nil
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci in %s: %w\n%s", dir, err, text)
	}
	return modules, os.WriteFile(installed, want, 0o600)
}

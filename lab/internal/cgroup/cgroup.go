// Package cgroup makes control groups of Linux, of either version. Making one needs root.
package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Root is where Linux has its control groups.
const Root = "/sys/fs/cgroup"

// A Group is the folder of a control group.
type Group string

// A Setting is the text that a file of a group gets.
type Setting struct {
	File, Text string
	Optional   bool // not every kernel has the file
}

// New makes a group of a controller, such as "cpu", below root. settings returns the settings for
// version 1 or 2. The error says why this machine has no such group.
func New(ctx context.Context, root, controller string,
	settings func(second bool) []Setting) (_ Group, err error) {
	second, parent := true, root
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		second, parent = false, filepath.Join(root, controller)
	}
	folder, err := os.MkdirTemp(parent, "perfline-lab-")
	if err != nil {
		if of := (*fs.PathError)(nil); errors.As(err, &of) {
			err = of.Err // its name is random
		}
		return "", fmt.Errorf("making a control group in %s: %w", parent, err)
	}
	g := Group(folder)
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	for _, s := range settings(second) {
		if err := g.write(s); err != nil {
			return "", err
		}
	}
	// A user may be allowed to make groups, and not to move processes there.
	if text, err := g.Command(ctx, "true").CombinedOutput(); err != nil {
		return "", fmt.Errorf("moving a process: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return g, nil
}

// write does not create files: a group without the limit's file has no such limit.
func (g Group) write(s Setting) error {
	f, err := os.OpenFile(filepath.Join(string(g), s.File), os.O_WRONLY, 0)
	if err != nil {
		if s.Optional {
			return nil
		}
		return err
	}
	_, err = f.WriteString(s.Text)
	return errors.Join(err, f.Close())
}

// Command returns a command that runs in the group from the beginning: the runtime and perfline
// look for limits when they start.
func (g Group) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	script := []string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(string(g), "cgroup.procs"),
		name}
	return exec.CommandContext(ctx, "sh", append(script, args...)...)
}

// Close removes the group. The kernel may need a moment to see that its processes have ended.
func (g Group) Close() error {
	var err error
	for range 100 {
		if err = os.Remove(string(g)); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// limit is how many processors the service may use in a series with a limit.
const limit = 0.25

// Periods of the limit. The kernel's default is as long as a request, and stops a process once or
// twice in one. The smaller part of a pair needs shorter stops: it may come and go between two long
// ones.
const (
	longPeriod  = 100 * time.Millisecond
	shortPeriod = 20 * time.Millisecond
)

// groups is where Linux has its control groups.
const groups = "/sys/fs/cgroup"

// A group is a control group with a limit of CPU time.
type group string // its folder

// newGroup makes a group of either version below root. The error says why this machine has none for
// the judge.
func newGroup(ctx context.Context, root string, period time.Duration) (_ group, err error) {
	second, parent := true, root
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err != nil {
		second, parent = false, filepath.Join(root, "cpu")
	}
	folder, err := os.MkdirTemp(parent, "perfline-slow-")
	if err != nil {
		if of := (*fs.PathError)(nil); errors.As(err, &of) {
			err = of.Err // its name is random
		}
		return "", fmt.Errorf("making a control group in %s: %w", parent, err)
	}
	g := group(folder)
	defer func() {
		if err != nil {
			err = errors.Join(err, g.close())
		}
	}()
	for _, s := range settings(second, period) {
		if err := g.write(s.file, s.text); err != nil {
			return "", err
		}
	}
	// A user may be allowed to make groups, and not to move processes there.
	if text, err := g.command(ctx, "true").CombinedOutput(); err != nil {
		return "", fmt.Errorf("moving a process: %w: %s", err, strings.TrimSpace(string(text)))
	}
	return g, nil
}

// A setting is what a file of a group has to have.
type setting struct{ file, text string }

// settings are the limit as the versions of groups have it: a part of each period, in microseconds.
func settings(second bool, period time.Duration) []setting {
	whole := strconv.FormatInt(period.Microseconds(), 10)
	part := strconv.FormatInt(int64(limit*float64(period.Microseconds())), 10)
	if second {
		return []setting{{"cpu.max", part + " " + whole}}
	}
	return []setting{{"cpu.cfs_period_us", whole}, {"cpu.cfs_quota_us", part}}
}

// write does not create files: a group without the limit's file has no such limit.
func (g group) write(file, text string) error {
	f, err := os.OpenFile(filepath.Join(string(g), file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// command returns a command that runs in the group from the beginning: the runtime and perfline
// look for limits when they start.
func (g group) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	script := []string{"-c", `echo $$ >"$0" && exec "$@"`, filepath.Join(string(g), "cgroup.procs"),
		name}
	return exec.CommandContext(ctx, "sh", append(script, args...)...)
}

// close removes the group. The kernel may need a moment to see that its processes have ended.
func (g group) close() error {
	var err error
	for range 100 {
		if err = os.Remove(string(g)); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return err
}

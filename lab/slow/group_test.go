package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perfline/perfline/lab/internal/cgroup"
)

// Both versions of groups have the same limit.
func TestSettings(t *testing.T) {
	for _, c := range []struct {
		second bool
		want   []cgroup.Setting
	}{
		{false, []cgroup.Setting{{File: "cpu.cfs_period_us", Text: "100000"}, {File: "cpu.cfs_quota_us", Text: "25000"}}},
		{true, []cgroup.Setting{{File: "cpu.max", Text: "25000 100000"}}},
	} {
		if got := settings(c.second, longPeriod); !slices.Equal(got, c.want) {
			t.Errorf("version 2 is %v: the settings are %v, want %v", c.second, got, c.want)
		}
	}
}

// Where there are no groups, or where they have no limit of CPU time, nothing is left behind.
func TestNoGroup(t *testing.T) {
	for name, files := range map[string][]string{
		"nothing":                     nil,
		"version 1 without cpu":       {"memory/cgroup.procs"},
		"version 1 without the limit": {"cpu/cgroup.procs"},
		"version 2 without cpu":       {"cgroup.controllers", "cgroup.procs"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, f := range files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, f)), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, f), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if g, err := newGroup(t.Context(), root, longPeriod); err == nil {
				t.Errorf("made the group %s", g)
			}
			if left, err := filepath.Glob(filepath.Join(root, "*", "perfline-*")); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
			if left, err := filepath.Glob(filepath.Join(root, "perfline-*")); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

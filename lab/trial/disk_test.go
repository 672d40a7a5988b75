package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestSmallDisk needs root on Linux, as it has in CI; where it is not allowed that is
// what must be told.
func TestSmallDisk(t *testing.T) {
	dir := t.TempDir()
	if err := mount(dir, 1<<20); err != nil {
		if os.Geteuid() == 0 && !errors.Is(err, os.ErrPermission) {
			t.Errorf("root cannot mount a small disk: %v", err)
		}
		t.Logf("not made: %v", err)
		return
	}
	defer func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	}()
	// The space left is then no whole number of the blocks that are written.
	if err := os.WriteFile(filepath.Join(dir, "one"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := fill(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "more"), []byte("x"), 0o600); err == nil {
			t.Error("a full disk takes a byte more")
		}
		if err := empty(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "more"), make([]byte, 1<<19), 0o600); err != nil {
			t.Errorf("with room again: %v", err)
		}
		if err := os.Remove(filepath.Join(dir, "more")); err != nil {
			t.Fatal(err)
		}
	}
}

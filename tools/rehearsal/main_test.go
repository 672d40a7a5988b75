package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module that requires an unreleased version of another one fails the rehearsal.
func TestReleaseOrder(t *testing.T) {
	dir := t.TempDir()
	for file, content := range map[string]string{
		"observer/go.mod": "module " + modulePath + "/observer\n",
		"marks/go.mod":    "module " + modulePath + "/marks\nrequire " + modulePath + "/observer v0.2.0\n",
		"go.mod":          "module " + modulePath + "\n",
	} {
		name := filepath.Join(dir, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "."},
		{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "modules"},
	} {
		if err := command(t.Context(), dir, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	err := run(t.Context(), []string{"-repository", dir})
	want := "marks/go.mod requires " + modulePath + "/observer@v0.2.0, which is not released before it"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// The rehearsal fails for a module that requires an unreleased version of another one, and for a module without a licence.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name, file, content, want string
	}{
		{
			"a version that is not released", "marks/go.mod", "module " + modulePath + "/marks\nrequire " + modulePath + "/observer v0.2.0\n",
			"marks/go.mod requires " + modulePath + "/observer@v0.2.0, which is not released before it",
		},
		{"no licence", "LICENSE", "", "the zip of " + modulePath + "/internal/record@v0.1.0 has no LICENSE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			files := map[string]string{"LICENSE": "a licence\n"}
			for _, m := range releaseOrder {
				files[path.Join(m, "go.mod")] = "module " + strings.TrimSuffix(modulePath+"/"+m, "/") + "\n"
			}
			files[c.file] = c.content
			for file, content := range files {
				if content == "" {
					continue
				}
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
			if err := run(t.Context(), []string{"-repository", dir}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

package repository_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/perfline/perfline"

// atRoot makes the root of the repository the working directory of t. TestMain cannot do it. The go command keeps the result of a
// test until a file has changed that it opened, and does not see a change of directory before the tests begin.
func atRoot(t *testing.T) {
	t.Helper()
	t.Chdir(filepath.Join("..", ".."))
}

// list runs the go command that runs the tests ("go test" puts it first in PATH).
func list(t *testing.T, goos, format string, args ...string) string {
	t.Helper()
	return listIn(t, ".", goos, format, args...)
}

// listIn is list in the module of a folder.
func listIn(t *testing.T, folder, goos, format string, args ...string) string {
	t.Helper()
	sources(t) // the go command does not see which files a program opens that the test starts
	cmd := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOOS="+goos)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("GOOS=%s go list %v: %v\n%s", goos, args, err, &stderr)
	}
	return string(out)
}

// packages are the patterns of all packages that users get of the module perfline and of those that it requires.
var packages = []string{"./...", module + "/internal/record/...", module + "/observer/...", module + "/marks/..."}

// nested are the folders of the modules that users get, and of the one with tests of observer and marks. Other nested modules
// are the repository's own.
var nested = []string{"internal/record", "observer", "marks", "mcpserver", "internal/timelinetest"}

// sources are the Go and assembler files of these modules, by path.
func sources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != "." && !slices.Contains(nested, filepath.ToSlash(path)) {
				return fs.SkipDir
			}
		case strings.HasSuffix(path, ".go"), strings.HasSuffix(path, ".s"):
			all[filepath.ToSlash(path)] = string(read(t, path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// files returns the repository's files whose names end in suffix.
func files(t *testing.T, suffix string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if name := d.Name(); d.IsDir() && (name == "node_modules" || name == ".git") {
			return fs.SkipDir
		}
		if err == nil && strings.HasSuffix(file, suffix) {
			names = append(names, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

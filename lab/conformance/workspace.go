package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A workspace is a folder with copies of modules that are built together.
type workspace struct {
	folder string
	env    []string
}

// newWorkspace makes a workspace in a folder that is not there yet. Its modules get perfline from
// the root folder of this repository.
func newWorkspace(root, folder string, modules []string) (*workspace, error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return nil, err
	}
	var work strings.Builder
	work.WriteString("go 1.26.0\n")
	for _, m := range modules {
		fmt.Fprintf(&work, "use ./%s\n", m)
	}
	for module, path := range map[string]string{"": "", "/marks": "marks", "/observer": "observer",
		"/internal/record": "internal/record"} {
		fmt.Fprintf(&work, "replace github.com/perfline/perfline%s => %s\n", module,
			filepath.Join(root, path))
	}
	w := &workspace{folder: folder,
		env: append(os.Environ(), "GOWORK="+filepath.Join(folder, "go.work"),
			"GOFLAGS=-modcacherw -trimpath")}
	return w, os.WriteFile(filepath.Join(folder, "go.work"), []byte(work.String()), 0o644)
}

// copyModule copies a module from the module cache, without its replacements: they are folders
// beside it.
func (w *workspace) copyModule(ctx context.Context, module, version, to string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir, cmd.Env = w.folder, append(slices.Clone(w.env), "GOWORK=off")
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if json.Unmarshal(out, &got) == nil && got.Error != "" {
		return errors.New(got.Error)
	}
	if err != nil {
		return fmt.Errorf("go mod download %s@%s: %w", module, version, err)
	}
	to = filepath.Join(w.folder, to)
	if err := os.CopyFS(to, os.DirFS(got.Dir)); err != nil {
		return err
	}
	// the cache is read-only
	err = filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o755)
		}
		return os.Chmod(path, 0o644)
	})
	if err != nil {
		return err
	}
	return w.dropReplacements(ctx, to)
}

func (w *workspace) dropReplacements(ctx context.Context, folder string) error {
	out, err := w.goCommand(ctx, folder, "mod", "edit", "-json")
	if err != nil {
		return err
	}
	var mod struct {
		Replace []struct {
			Old struct{ Path, Version string }
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return err
	}
	for _, r := range mod.Replace {
		old := strings.TrimSuffix(r.Old.Path+"@"+r.Old.Version, "@")
		if _, err := w.goCommand(ctx, folder, "mod", "edit", "-dropreplace="+old); err != nil {
			return err
		}
	}
	return nil
}

// addFiles copies the files of a folder of testdata into a folder of the workspace. A go.mod has
// the ending .txt there, so that it is no module of this repository.
func (w *workspace) addFiles(from, to string) error {
	return fs.WalkDir(os.DirFS(filepath.Join("conformance/testdata", from)), ".",
		func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			target := filepath.Join(w.folder, to, strings.TrimSuffix(path, ".txt"))
			if d.IsDir() {
				return os.MkdirAll(target, 0o755)
			}
			text, err := os.ReadFile(filepath.Join("conformance/testdata", from, path))
			if err != nil {
				return err
			}
			return os.WriteFile(target, text, 0o644)
		})
}

// goCommand runs the go command in a folder, and returns what it prints. Its error has the
// complaints.
func (w *workspace) goCommand(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = folder, w.env
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

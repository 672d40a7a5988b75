package main

import (
	archivezip "archive/zip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

const (
	modulePath = "github.com/perfline/perfline"
	version    = "v0.1.0"
	engine     = "internal/record"
	newer      = "v0.1.1" // of the engine alone
)

// releaseOrder has the folders of the users' modules: each one requires those before it.
var releaseOrder = []string{engine, "observer", "marks", "", "mcpserver"}

// A proxy is a module proxy on disk, with the user's own modules behind it.
type proxy struct {
	repository string // a clone, with the tags of the release
	dir        string // temporary; has the clone, the proxy, a module cache, and programs
	url        string // for GOPROXY
	cache      string // an empty module cache: the released versions must not stay in the user's
}

func newProxy(ctx context.Context, repository, dir string) (*proxy, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "-json", "GOPROXY", "GOMODCACHE").Output()
	if err != nil {
		return nil, err
	}
	var env struct{ GOPROXY, GOMODCACHE string }
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, err
	}
	p := &proxy{repository: filepath.Join(dir, "clone"), dir: dir,
		cache: filepath.Join(dir, "cache")}
	// The user's module cache is a proxy, too: nothing is downloaded twice.
	p.url = strings.Join([]string{fileURL(filepath.Join(dir, "proxy")),
		fileURL(filepath.Join(env.GOMODCACHE, "cache", "download")), env.GOPROXY}, ",")
	return p, command(ctx, dir, "git", "clone", "--quiet", "--no-checkout", repository,
		p.repository)
}

func command(ctx context.Context, dir, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return nil
}

func fileURL(folder string) string { return "file://" + filepath.ToSlash(folder) }

// release tags a module and puts it into the proxy, as a version. It returns the tag.
func (p *proxy) release(ctx context.Context, folder, version string) (string, error) {
	m := module.Version{Path: strings.TrimSuffix(modulePath+"/"+folder, "/"), Version: version}
	tag := path.Join(folder, version)
	if err := command(ctx, p.repository, "git", "tag", tag); err != nil {
		return "", err
	}
	name := path.Join(folder, "go.mod")
	show := exec.CommandContext(ctx, "git", "show", tag+":"+name)
	show.Dir = p.repository
	mod, err := show.Output()
	if err != nil {
		return "", fmt.Errorf("%s of the tag %s: %w", name, tag, err)
	}
	if err := p.checkRequirements(name, mod); err != nil {
		return "", err
	}
	versions := filepath.Join(p.dir, "proxy", filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		return "", err
	}
	info, err := json.Marshal(map[string]any{"Version": version, "Time": time.Now().UTC()})
	if err != nil {
		return "", err
	}
	for file, content := range map[string][]byte{version + ".info": info, version + ".mod": mod} {
		if err := os.WriteFile(filepath.Join(versions, file), content, 0o600); err != nil {
			return "", err
		}
	}
	if err := appendLine(filepath.Join(versions, "list"), version); err != nil {
		return "", err
	}
	archive := filepath.Join(versions, version+".zip")
	if err := p.pack(archive, m, tag, folder); err != nil {
		return "", err
	}
	return tag, licensed(archive, m)
}

// pack writes the zip of a module.
func (p *proxy) pack(archive string, m module.Version, tag, folder string) error {
	f, err := os.Create(archive)
	if err != nil {
		return err
	}
	return errors.Join(zip.CreateFromVCS(f, m, p.repository, tag, folder), f.Close())
}

// licensed returns an error if the zip of a module has no licence at its root, where package pages
// look for it.
func licensed(archive string, m module.Version) error {
	r, err := archivezip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	if _, err := fs.Stat(r, m.String()+"/LICENSE"); err != nil {
		return fmt.Errorf("the zip of %s has no LICENSE: %w", m, err)
	}
	return nil
}

func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// checkRequirements returns an error if a go.mod requires a module of this repository that is not
// released.
func (p *proxy) checkRequirements(name string, content []byte) error {
	mod, err := modfile.Parse(name, content, nil)
	if err != nil {
		return err
	}
	for _, r := range mod.Require {
		if !strings.HasPrefix(r.Mod.Path, modulePath) {
			continue
		}
		file := filepath.Join(p.dir, "proxy", filepath.FromSlash(r.Mod.Path), "@v", r.Mod.Version+
			".mod")
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("%s requires %s, which is not released before it", name, r.Mod)
		}
	}
	return nil
}

// removeAll also removes a module cache, whose folders cannot be written.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return os.Chmod(name, 0o755) //nolint:gosec // a folder
		}
		return err
	})
	_ = os.RemoveAll(dir)
}

package deploy

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"

	"github.com/perfline/perfline/integration/backend"
)

// dockerfile is deploy/Dockerfile with its lines joined.
func dockerfile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`\\\n\s*`).ReplaceAllString(string(text), "")
}

// buildContext copies what a build is given: the repository without what .dockerignore
// leaves out.
func buildContext(t *testing.T, dir string) {
	t.Helper()
	ignore, err := os.Open(filepath.Join(root, ".dockerignore"))
	if err != nil {
		t.Fatal(err)
	}
	defer ignore.Close()
	patterns, err := ignorefile.ReadAll(ignore)
	if err != nil {
		t.Fatal(err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil || name == "." {
			return err
		}
		if out, err := matcher.MatchesOrParentMatches(name); out || err != nil {
			if d.IsDir() && err == nil {
				return filepath.SkipDir // no pattern of ours takes anything back
			}
			return err
		}
		if d.IsDir() {
			return os.Mkdir(filepath.Join(dir, name), 0o755)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), data, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// builtShop is the program that buildShop has made.
var builtShop string

// buildShop builds the shop with the Dockerfile's own command, of what the build is given. The first test that asks for
// it builds it: no two tests run at once.
func buildShop(t *testing.T) string {
	t.Helper()
	if builtShop != "" {
		return builtShop
	}
	command := regexp.MustCompile(`(?m)^RUN .*(CGO_ENABLED=0 go build .* -o )/out/shop( .*)$`).FindStringSubmatch(dockerfile(t))
	if command == nil {
		t.Fatal("deploy/Dockerfile has no line that builds /out/shop with CGO_ENABLED=0")
	}
	bin, dir := filepath.Join(programs, "shop"), filepath.Join(programs, "context")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	buildContext(t, dir)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", command[1]+bin+command[2])
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, text)
	}
	builtShop = bin
	return bin
}

// An image's stages begin with an exact version or with nothing. It runs as a user that
// the host does not know.
func TestDockerfile(t *testing.T) {
	text := dockerfile(t)
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(text, -1) {
		if from[1] != "scratch" && !exact.MatchString(from[1]) {
			t.Errorf("FROM %s: must have a version of three numbers", from[1])
		}
	}
	_, last, _ := strings.Cut(text, "\nFROM scratch\n")
	if !strings.Contains(last, "\nUSER 65532:65532\n") {
		t.Errorf("the last stage has no USER of its own, without root's rights:\n%s", last)
	}
	var goVersion, goMod string
	if m := regexp.MustCompile(`(?m)^FROM golang:(\d+\.\d+)\.`).FindStringSubmatch(text); m != nil {
		goVersion = m[1]
	}
	mod, err := os.ReadFile(filepath.Join(root, "examples", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod); m != nil {
		goMod = string(m[1])
	}
	if goVersion == "" || goVersion != goMod {
		t.Errorf("it builds with Go %q, examples/go.mod says %q", goVersion, goMod)
	}
}

// The files that the Dockerfile copies before it downloads the modules are enough for that.
func TestDockerfileDownloads(t *testing.T) {
	before, _, ok := strings.Cut(dockerfile(t), " go -C examples mod download\n")
	if !ok {
		t.Fatal("deploy/Dockerfile does not download the modules of examples")
	}
	dir := t.TempDir()
	for _, line := range regexp.MustCompile(`(?m)^COPY (.+) (\S+)$`).FindAllStringSubmatch(before, -1) {
		to := filepath.Join(dir, line[2])
		if err := os.MkdirAll(to, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, from := range strings.Fields(line[1]) {
			data, err := os.ReadFile(filepath.Join(root, from))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(from)), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "-C", "examples", "mod", "download")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", cmd, err, text)
	}
}

// A shopProcess is the shop as its container runs it: with compose's flags and variables, and nothing else.
type shopProcess struct {
	url string
	cmd *exec.Cmd
	out *bytes.Buffer // read it after stop
}

// startShop runs it with hosts in place of compose's names of them.
func startShop(ctx context.Context, t *testing.T, bin string, hosts *strings.Replacer, more ...string) *shopProcess {
	t.Helper()
	service := load(t).Services["shop"]
	args := append([]string{}, service.Command...)
	for i, a := range args {
		args[i] = strings.Replace(a, "0.0.0.0:8080", "127.0.0.1:0", 1)
	}
	s := &shopProcess{cmd: exec.CommandContext(ctx, bin, args...), out: new(bytes.Buffer)}
	s.cmd.Dir = t.TempDir()
	s.cmd.Env = []string{"TMPDIR=" + t.TempDir()}
	for name, value := range service.Environment {
		s.cmd.Env = append(s.cmd.Env, name+"="+hosts.Replace(*value))
	}
	s.cmd.Env = append(s.cmd.Env, more...) // of one name the last counts
	s.cmd.Stderr = s.out
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for s.url == "" && lines.Scan() {
		s.url, _ = strings.CutPrefix(lines.Text(), "shop: ")
	}
	if s.url == "" {
		t.Fatalf("the shop says no address: %v\n%s", s.cmd.Wait(), s.out)
	}
	go func() { // or its last words block it
		for lines.Scan() {
		}
	}()
	return s
}

// stop ends it as an engine does, and gives it as long as it takes.
func (s *shopProcess) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("the shop, asked to end: %w\n%s", err, s.out)
	}
	return nil
}

// The Dockerfile's command makes a program that needs nothing of a system, of the files
// that the build is given, and compose's flags and variables are right for it.
func TestShopOfTheImage(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	bin := buildShop(t)
	file, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program is not static: it has a segment %v", p.Type)
		}
	}

	// The shop runs without any backend.
	s := startShop(ctx, t, bin, strings.NewReplacer("collector:4317", "127.0.0.1:1", "pyroscope:4040", "127.0.0.1:1"),
		"OTEL_METRICS_EXPORTER=none")
	check := load(t).Services["shop"].HealthCheck.Test
	health, ok := strings.CutPrefix(check[len(check)-1], "http://127.0.0.1:8080")
	if !ok {
		t.Errorf("the health check asks %s, must ask the port that the shop listens on", check[len(check)-1])
	}
	for _, c := range []struct {
		name, path, host string
		status           int
	}{
		{"its health", health, "", http.StatusOK},
		{"a product", "/products/7", "", http.StatusOK},
		{"the live page", "/debug/perfline/", "", http.StatusOK},
		{"the live page by a rebound name", "/debug/perfline/", "evil.example", http.StatusForbidden},
		{"the live page by its name among containers", "/debug/perfline/", "shop:8080", http.StatusForbidden},
	} {
		t.Run(c.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+c.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = c.host
			err = backend.Poll(ctx, func() (bool, error) {
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					return false, err
				}
				resp.Body.Close()
				if resp.StatusCode != c.status {
					return false, fmt.Errorf("status %d, want %d", resp.StatusCode, c.status)
				}
				return true, nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	// It ends with an error, as spans are lost.
	if err := s.stop(); err == nil || !strings.Contains(err.Error(), "exit status 1") {
		t.Errorf("got %v, want an exit status that says that spans are lost", err)
	}
}

// Package firefox asks the Firefox Profiler, without a browser, what it shows of a file.
package firefox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// session is the name that the program gives to the open file.
const session = "test"

// A Profiler is the Firefox Profiler with a file open.
type Profiler struct {
	program string // profiler-cli, which package npm installs
	home    string // the folder of the server's socket and log
	server  *exec.Cmd
	ended   chan struct{} // closed when the server has ended
}

// Open opens a file. Modules is the folder that npm.Install returns. The server ends with Close, or with ctx.
//
// The program's own command "load" starts the same server, but gives up when it is not there within half a second.
// A busy machine needs longer.
func Open(ctx context.Context, modules, file string) (_ *Profiler, err error) {
	// A socket's name is at most 104 characters long. The folder of a test may already have more.
	home, err := os.MkdirTemp("", "firefox")
	if err != nil {
		return nil, err
	}
	p := &Profiler{
		program: filepath.Join(modules, "@firefox-devtools", "profiler-cli", "dist", "profiler-cli.js"),
		home:    home,
		ended:   make(chan struct{}),
	}
	p.server = p.command(ctx, "--daemon", file, "--session", session)
	if err := p.server.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	go func() {
		defer close(p.ended)
		_ = p.server.Wait() // the log says why it ended
	}()
	if err := p.loaded(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// loaded waits until the server has loaded the file.
func (p *Profiler) loaded() error {
	for tick := time.Tick(20 * time.Millisecond); ; {
		var ended bool
		select {
		case <-tick:
		case <-p.ended:
			ended = true
		}
		log, err := os.ReadFile(filepath.Join(p.home, session+".log"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		switch {
		case bytes.Contains(log, []byte("Profile loaded successfully")):
			return nil
		case ended, bytes.Contains(log, []byte("Failed to load profile")):
			return fmt.Errorf("the Firefox Profiler did not load the file; its log:\n%s", log)
		}
	}
}

// Ask runs a query, such as "thread list", and decodes its answer.
func (p *Profiler) Ask(ctx context.Context, answer any, query ...string) error {
	cmd := p.command(ctx, append(query, "--json", "--session", session)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("firefox: %q: %w\n%s%s", query, err, out, stderr.Bytes())
	}
	return json.Unmarshal(out, answer)
}

// Close ends the server.
func (p *Profiler) Close() error {
	err := p.server.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.ended
	return errors.Join(err, os.RemoveAll(p.home))
}

func (p *Profiler) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "node", append([]string{p.program}, args...)...)
	cmd.Env = append(os.Environ(), "PROFILER_CLI_SESSION_DIR="+p.home)
	return cmd
}

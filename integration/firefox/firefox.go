// Package firefox asks the Firefox Profiler, without a browser, what it shows of a file.
package firefox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// session is the name that the program gives to the open file.
const session = "test"

// A Profiler is the Firefox Profiler with a file open.
type Profiler struct {
	home   string // the folder of the server's socket and log
	server *exec.Cmd
	ended  chan struct{} // closed when the server has ended

	conn    net.Conn // to the server; nil until it has loaded the file
	replies *json.Decoder
}

// Open opens a file. Modules is the folder that npm.Install returns. The server ends with Close, or
// with ctx.
//
// The program's own command "load" starts the same server, but gives up when it is not there within
// half a second. A busy machine needs longer.
func Open(ctx context.Context, modules, file string) (_ *Profiler, err error) {
	// A socket's name is at most 104 characters long. The folder of a test may already have more.
	home, err := os.MkdirTemp("", "firefox")
	if err != nil {
		return nil, err
	}
	program := filepath.Join(modules, "@firefox-devtools", "profiler-cli", "dist",
		"profiler-cli.js")
	p := &Profiler{home: home, ended: make(chan struct{})}
	p.server = exec.CommandContext(ctx, "node", program, "--daemon", file, "--session", session)
	p.server.Env = append(os.Environ(), "PROFILER_CLI_SESSION_DIR="+home)
	if err := p.server.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(home))
	}
	go func() {
		defer close(p.ended)
		_ = p.server.Wait() // the log says why it ended
	}()
	if err = p.loaded(); err == nil {
		p.conn, err = new(net.Dialer).DialContext(ctx, "unix", filepath.Join(home, session+".sock"))
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.replies = json.NewDecoder(p.conn)
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

// Threads decodes the list of all threads.
func (p *Profiler) Threads(answer any) error {
	// 0 means all
	return p.ask(answer, `{"subcommand":"list","threadListOptions":{"limit":0},"command":"thread"}`)
}

// Markers decodes all markers of a thread.
func (p *Profiler) Markers(answer any, thread string) error {
	return p.ask(answer,
		fmt.Sprintf(`{"subcommand":"markers","markerFilters":{"list":true},"thread":%q,"command":"thread"}`, thread))
}

// Samples decodes what is said of a thread's samples: the 50 functions with the most, among others.
func (p *Profiler) Samples(answer any, thread string) error {
	return p.ask(answer,
		fmt.Sprintf(`{"subcommand":"samples","includeIdle":true,"thread":%q,"command":"thread"}`,
			thread))
}

// ask sends a command to the server, as the program does with the commands "thread list" and so on.
// The program itself would be started for each, and is large.
func (p *Profiler) ask(answer any, command string) error {
	if _, err := fmt.Fprintf(p.conn, "{\"type\":\"command\",\"command\":%s}\n",
		command); err != nil {
		return fmt.Errorf("firefox: %s: %w", command, err)
	}
	var reply struct {
		Type, Error string
		Result      json.RawMessage
	}
	if err := p.replies.Decode(&reply); err != nil {
		return fmt.Errorf("firefox: %s: %w", command, err)
	}
	if reply.Type != "success" {
		return fmt.Errorf("firefox: %s: %s %s", command, reply.Type, reply.Error)
	}
	return json.Unmarshal(reply.Result, answer)
}

// Close ends the server.
func (p *Profiler) Close() error {
	err := p.server.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	<-p.ended
	if p.conn != nil {
		_ = p.conn.Close() // its other end is gone
	}
	return errors.Join(err, os.RemoveAll(p.home))
}

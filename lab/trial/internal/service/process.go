package service

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Config configures [Start].
type Config struct {
	// Env is added to this process's environment, such as OTEL_EXPORTER_OTLP_ENDPOINT=…. The
	// variables of OpenTelemetry, Pyroscope and perfline that this process has are left out.
	Env []string

	// Deadline is how long the service may take to end; 0 means ten seconds.
	Deadline time.Duration

	// Log gets what the service logs; nil means that it is dropped.
	Log io.Writer
}

// A Process is the service. Its methods are for one goroutine at a time, but for Account.
type Process struct {
	cmd       *exec.Cmd
	stdin     io.Closer
	lines     *bufio.Reader
	addresses addresses
	client    *http.Client
}

// Start starts this program again, as the service that [Main] is, and returns when it listens.
// The caller calls Terminate or Kill.
func Start(ctx context.Context, c Config) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	p := &Process{cmd: exec.Command(self), client: &http.Client{Timeout: 10 * time.Second}} //nolint:noctx // it outlives ctx, until Terminate or Kill
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL_") && !strings.HasPrefix(v, "PYROSCOPE_") &&
			!strings.HasPrefix(v, "PERFLINE_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(append(p.cmd.Env, c.Env...), variable+"="+
		cmp.Or(c.Deadline, 10*time.Second).String())
	p.cmd.Stderr = c.Log
	p.cmd.WaitDelay = 5 * time.Second
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	p.lines = bufio.NewReader(stdout)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	if err := p.read(ctx, &p.addresses); err != nil {
		return nil, fmt.Errorf("starting the service: %w", errors.Join(err, p.Kill()))
	}
	return p, nil
}

// URL is what a load requests.
func (p *Process) URL() string { return p.addresses.URL + "/task" }

// Account asks the service what it has used.
func (p *Process) Account(ctx context.Context) (Account, error) { return p.ask(ctx, "/") }

// Collected is Account after a garbage collection: its LiveHeap is of now.
func (p *Process) Collected(ctx context.Context) (Account, error) { return p.ask(ctx, "/collect") }

func (p *Process) ask(ctx context.Context, path string) (a Account, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.addresses.Accounts+path,
		http.NoBody)
	if err != nil {
		return a, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return a, fmt.Errorf("asking the service for its account: %w", err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil {
		return a, fmt.Errorf("the service's account: %w", err)
	}
	return a, nil
}

// Terminate sends SIGTERM and returns the service's last account. It kills the
// service when ctx is over.
func (p *Process) Terminate(ctx context.Context) (f Final, err error) {
	defer p.client.CloseIdleConnections()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return f, fmt.Errorf("terminating the service: %w", errors.Join(err, p.cmd.Wait()))
	}
	if err := p.read(ctx, &f); err != nil {
		return f, fmt.Errorf("terminating the service: %w", errors.Join(err, p.Kill()))
	}
	_ = p.stdin.Close() // it may have ended already
	if err := p.cmd.Wait(); err != nil {
		return f, fmt.Errorf("the service ended: %w", err)
	}
	return f, nil
}

// Kill ends the service at once, and waits for its end. After Terminate it does
// nothing.
func (p *Process) Kill() error {
	if p.cmd.ProcessState != nil {
		return nil
	}
	p.client.CloseIdleConnections()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the service: %w", err)
	}
	_ = p.stdin.Close()
	_ = p.cmd.Wait() // it was killed: that is its error
	return nil
}

// read reads a line of the service's output, or kills the service when ctx is over.
func (p *Process) read(ctx context.Context, into any) error {
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() }) // it may have ended already
	defer stop()
	line, err := p.lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it says nothing: %w", cmp.Or(context.Cause(ctx), err))
	}
	return json.Unmarshal(line, into)
}

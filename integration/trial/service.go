package trial

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

// ServiceConfig configures [StartService].
type ServiceConfig struct {
	Telemetry Telemetry // "" means Perfline

	// Env is added to this process's environment, of which the variables of
	// OpenTelemetry, Pyroscope and perfline are left out: GOMAXPROCS=1,
	// OTEL_EXPORTER_OTLP_ENDPOINT=….
	Env []string

	// Deadline is how long the service may take to end; 0 means ten seconds.
	Deadline time.Duration

	// Log gets what the service logs; nil means that it is dropped.
	Log io.Writer
}

// A Service is a service in a process of its own. Its methods are for one
// goroutine at a time, but for Account.
type Service struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines *bufio.Reader
	at    addresses
	asks  *http.Client
}

// StartService starts this program again, as the service that [Main] is, and
// returns when it listens. The caller calls Terminate or Kill.
func StartService(ctx context.Context, c ServiceConfig) (*Service, error) {
	raw, err := json.Marshal(orders{
		Telemetry: cmp.Or(c.Telemetry, Perfline), Deadline: cmp.Or(c.Deadline, 10*time.Second),
	})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	s := &Service{cmd: exec.Command(self), asks: &http.Client{Timeout: 10 * time.Second}} //nolint:noctx // it outlives ctx, until Terminate or Kill
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL_") && !strings.HasPrefix(v, "PYROSCOPE_") && !strings.HasPrefix(v, "PERFLINE_") {
			s.cmd.Env = append(s.cmd.Env, v)
		}
	}
	s.cmd.Env = append(append(s.cmd.Env, c.Env...), variable+"="+string(raw))
	s.cmd.Stderr = c.Log
	s.cmd.WaitDelay = 5 * time.Second
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	s.lines = bufio.NewReader(stdout)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	if err := s.read(ctx, &s.at); err != nil {
		return nil, fmt.Errorf("starting the service: %w", errors.Join(err, s.Kill()))
	}
	return s, nil
}

// URL is what the load asks for.
func (s *Service) URL() string { return s.at.URL + "/task" }

// Account asks the service what it has used.
func (s *Service) Account(ctx context.Context) (Account, error) { return s.ask(ctx, "/") }

// Collected is Account after a garbage collection: its LiveHeap is of now.
func (s *Service) Collected(ctx context.Context) (Account, error) { return s.ask(ctx, "/collect") }

func (s *Service) ask(ctx context.Context, path string) (a Account, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.at.Accounts+path, http.NoBody)
	if err != nil {
		return a, err
	}
	resp, err := s.asks.Do(req)
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
func (s *Service) Terminate(ctx context.Context) (f Final, err error) {
	defer s.asks.CloseIdleConnections()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return f, fmt.Errorf("terminating the service: %w", errors.Join(err, s.cmd.Wait()))
	}
	if err := s.read(ctx, &f); err != nil {
		return f, fmt.Errorf("terminating the service: %w", errors.Join(err, s.Kill()))
	}
	_ = s.stdin.Close() // it may have ended already
	if err := s.cmd.Wait(); err != nil {
		return f, fmt.Errorf("the service ended: %w", err)
	}
	return f, nil
}

// Kill ends the service at once, and waits for its end. After Terminate it does
// nothing.
func (s *Service) Kill() error {
	if s.cmd.ProcessState != nil {
		return nil
	}
	s.asks.CloseIdleConnections()
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing the service: %w", err)
	}
	_ = s.stdin.Close()
	_ = s.cmd.Wait() // it was killed: that is its error
	return nil
}

// read reads a line of the service's output, or kills the service when ctx is over.
func (s *Service) read(ctx context.Context, into any) error {
	stop := context.AfterFunc(ctx, func() { _ = s.cmd.Process.Kill() }) // it may have ended already
	defer stop()
	line, err := s.lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it says nothing: %w", cmp.Or(context.Cause(ctx), err))
	}
	return json.Unmarshal(line, into)
}

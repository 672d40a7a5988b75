package backend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// A server is a backend's process, on ports and in a folder that stay the same
// when it is started again. Its methods are for one goroutine at a time.
type server struct {
	name  string          // of the program, for errors
	bin   string          // the program
	args  []string        // its arguments
	env   []string        // what it gets beside this process's environment
	dir   string          // its working folder, which is the server's own
	ready string          // the URL that answers 200 when it is ready
	ports map[string]port // by what listens there

	log  syncBuffer
	proc *process
}

// newServer builds the program of a nested module if necessary, which takes minutes the
// first time. It picks a folder, and a port for each listener. The caller calls Stop.
func newServer(ctx context.Context, name string, listeners ...string) (*server, error) {
	bin, err := build(ctx, name)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return nil, err
	}
	s := &server{name: name, bin: bin, dir: dir, ports: map[string]port{}}
	for _, l := range listeners {
		p, err := loopbackPorts.reserve(ctx)
		if err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		s.ports[l] = p
	}
	return s, nil
}

// Start starts the process, at first or after Kill or Terminate, and waits until it is ready.
func (s *server) Start(ctx context.Context) error {
	cmd := exec.Command(s.bin, s.args...) //nolint:noctx // it outlives ctx, until Stop
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stdout, cmd.Stderr = &s.log, &s.log
	proc, err := startProcess(cmd)
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.name, err)
	}
	s.proc = proc
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	err = Poll(ctx, func() (bool, error) {
		if proc.ended() {
			return false, fmt.Errorf("it ended before it was ready: %w", proc.err)
		}
		return s.answers(ctx), nil
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w\n%s", s.name, errors.Join(err, s.Kill()), s.Log())
	}
	return nil
}

// answers tells whether the process is ready.
func (s *server) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ready, http.NoBody)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false // not there yet: it is asked again
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Kill ends the process at once, as a crash would, and waits for its end; what it
// had in memory is gone. A second call does nothing.
func (s *server) Kill() error {
	if s.proc == nil {
		return nil
	}
	return s.proc.kill()
}

// Terminate asks the process to end, waits for its end, and kills it if it takes over
// a minute. It can be started again. A second call does nothing.
func (s *server) Terminate() error {
	if s.proc == nil {
		return nil
	}
	return s.proc.stop(time.Minute)
}

// Stop terminates the process, removes its folder and gives its ports back: the process cannot be
// started again.
func (s *server) Stop() error {
	err := errors.Join(s.Terminate(), os.RemoveAll(s.dir))
	for _, p := range s.ports {
		p.release()
	}
	return err
}

// IsUp tells whether the process has been started and has not ended.
func (s *server) IsUp() bool { return s.proc != nil && !s.proc.ended() }

// Dir is the process's folder, which stays the same when it is started again.
func (s *server) Dir() string { return s.dir }

// Log is what the process has printed, and those before it.
func (s *server) Log() string { return s.log.String() }

func (s *server) url(listener string) string {
	return "http://127.0.0.1:" + strconv.Itoa(s.ports[listener].number)
}

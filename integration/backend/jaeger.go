package backend

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
)

//go:embed jaeger.yaml
var jaegerConfig []byte

// A Jaeger is a Jaeger 2 process with all its data in memory. Its methods are
// for one goroutine at a time.
type Jaeger struct {
	ports map[string]int
	dir   string
	bin   string
	cmd   *exec.Cmd
	log   syncBuffer
	done  chan error
}

// StartJaeger builds Jaeger if need be, which takes minutes the first time,
// starts it and waits until it is ready. The caller stops it.
func StartJaeger(ctx context.Context) (*Jaeger, error) {
	bin, err := build(ctx, "jaeger", "github.com/jaegertracing/jaeger/cmd/jaeger")
	if err != nil {
		return nil, err
	}
	j := &Jaeger{bin: bin, ports: map[string]int{}}
	for _, name := range []string{"HEALTH", "QUERY", "QUERY_GRPC", "OTLP_GRPC", "OTLP_HTTP"} {
		if j.ports[name], err = freePort(ctx); err != nil {
			return nil, err
		}
	}
	if j.dir, err = os.MkdirTemp("", "jaeger"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(j.dir, "config.yaml"), jaegerConfig, 0o600); err != nil {
		return nil, err
	}
	return j, j.Start(ctx)
}

// freePort asks the kernel for a port. Somebody could take it before Jaeger
// does; Start fails then, and tells.
func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Start starts a process on the ports picked before, with nothing stored, and
// waits until it is ready.
func (j *Jaeger) Start(ctx context.Context) error {
	cmd := exec.Command(j.bin, "--config", filepath.Join(j.dir, "config.yaml")) //nolint:noctx // it outlives ctx, until Stop
	cmd.Dir = j.dir
	cmd.Env = os.Environ()
	for name, port := range j.ports {
		cmd.Env = append(cmd.Env, fmt.Sprintf("JAEGER_%s_PORT=%d", name, port))
	}
	cmd.Stdout, cmd.Stderr = &j.log, &j.log
	if err := cmd.Start(); err != nil {
		return err
	}
	j.cmd, j.done = cmd, make(chan error, 1)
	go func() { j.done <- cmd.Wait() }()

	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return Poll(ctx, func() (bool, error) {
		select {
		case err := <-j.done:
			j.done <- err
			return false, fmt.Errorf("jaeger ended before it was ready: %w\n%s", err, j.Log())
		default:
		}
		resp, err := http.Get(j.url("HEALTH") + "/status") //nolint:noctx // loopback, polled
		if err != nil {
			return false, nil // not there yet: ask again
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK, nil
	})
}

// Kill ends the process at once, as a crash would; what was stored is gone.
func (j *Jaeger) Kill() error {
	if err := j.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	err := <-j.done
	j.done <- err
	return nil
}

// Stop ends the process and removes its folder.
func (j *Jaeger) Stop() error {
	_ = j.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case err := <-j.done:
		j.done <- err
	case <-time.After(10 * time.Second):
		if err := j.Kill(); err != nil {
			return err
		}
	}
	return os.RemoveAll(j.dir)
}

// OTLPGRPC is the endpoint for OTLP over gRPC.
func (j *Jaeger) OTLPGRPC() string { return j.url("OTLP_GRPC") }

// OTLPHTTP is the endpoint for OTLP over HTTP.
func (j *Jaeger) OTLPHTTP() string { return j.url("OTLP_HTTP") }

// Log is what Jaeger has printed.
func (j *Jaeger) Log() string { return j.log.String() }

func (j *Jaeger) url(name string) string {
	return "http://127.0.0.1:" + strconv.Itoa(j.ports[name])
}

// Poll calls f until it reports true or an error, or ctx ends.
func Poll(ctx context.Context, f func() (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := f(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// syncBuffer is a bytes.Buffer for several goroutines.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/lab/internal/cgroup"
)

// patience is how long something may take that must come.
const patience = time.Minute

// A service is the victim's process, as the command sees it.
type service struct {
	folder, dir     string
	truth           *truth
	backend         *backend
	group           cgroup.Group
	command         *exec.Cmd
	requests, calls string // addresses
	dying           string // the trace of the request that died
}

func self(ctx context.Context, g cgroup.Group, args ...string) (*exec.Cmd, error) {
	name, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, name, args...)
	if g != "" {
		command = g.Command(ctx, name, args...)
	}
	command.Env = append(os.Environ(), asService+"=1")
	return command, nil
}

// start starts a service.
func start(ctx context.Context, folder string, limited bool) (_ *service, err error) {
	v := &service{folder: folder, dir: filepath.Join(folder, "blackbox"), backend: newBackend()}
	defer func() {
		if err != nil {
			err = errors.Join(err, v.close())
		}
	}()
	truthFile := filepath.Join(folder, "truth")
	if v.truth, err = makeTruth(truthFile); err != nil {
		return nil, err
	}
	if limited {
		if v.group, err = cgroup.New(ctx, cgroup.Root, "memory", memorySettings); err != nil {
			return nil, err
		}
	}
	if v.command, err = self(ctx, v.group, serveWord, "-dir", v.dir, "-truth", truthFile,
		"-endpoint", v.backend.server.URL); err != nil {
		return nil, err
	}
	words, err := os.Create(filepath.Join(folder, "stderr"))
	if err != nil {
		return nil, err
	}
	defer words.Close()
	v.command.Stderr = words
	output, err := v.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := v.command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &v.requests, &v.calls)
	}
	if err != nil {
		text, _ := os.ReadFile(words.Name())
		return nil, fmt.Errorf("starting the service: %w: %s", err, text)
	}
	return v, nil
}

func (v *service) close() (err error) {
	v.backend.server.CloseClientConnections()
	v.backend.server.Close()
	if v.command != nil && v.command.Process != nil && v.command.ProcessState == nil {
		_ = v.command.Process.Kill()
		_ = v.command.Wait()
	}
	if v.truth != nil {
		err = v.truth.close()
	}
	if v.group != "" {
		err = errors.Join(err, v.group.Close())
	}
	return err
}

// wait waits for the death, notes it as a parent does, and returns the kind without the note.
func (v *service) wait() (alone blackbox.Kind, err error) {
	hangs := time.AfterFunc(patience, func() { _ = v.command.Process.Kill() })
	_ = v.command.Wait()
	if !hangs.Stop() {
		return "", errors.New("the service does not end")
	}
	names, err := blackbox.Find(v.dir)
	if err != nil || len(names) != 1 {
		return "", fmt.Errorf("the service has left the boxes %q: %w", names, err)
	}
	f, err := blackbox.Take(names[0])
	if err != nil || f == nil {
		return "", fmt.Errorf("taking %s: %w", names[0], err)
	}
	d, err := f.Read()
	if err := errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return d.Kind, blackbox.NoteExit(v.dir, v.command.Process.Pid, v.command.ProcessState.String())
}

// succeed runs the next process, and returns its report.
func (v *service) succeed(ctx context.Context) (*reported, error) {
	command, err := self(ctx, "", succeedWord, "-dir", v.dir, "-endpoint", v.backend.server.URL)
	if err != nil {
		return nil, err
	}
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("the next process: %w", err)
	}
	r := &reported{}
	return r, json.Unmarshal(out, r)
}

func newTrace() (id trace.TraceID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// parentOf returns the header of a request of a trace.
func parentOf(id trace.TraceID) string {
	return fmt.Sprintf("00-%s-%s-01", id, trace.SpanID(id[:8]))
}

// get makes a request of a trace.
func (v *service) get(ctx context.Context, client *http.Client, path string,
	id trace.TraceID) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.requests+path,
		http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Traceparent", parentOf(id))
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, res.Status)
	}
	return nil
}

// until waits until a condition of the truth holds.
func (v *service) until(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !holds() {
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		}
	}
	return nil
}

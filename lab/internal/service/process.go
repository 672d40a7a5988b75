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
	"os/exec"
	"time"

	"github.com/perfline/perfline/lab/internal/process"
)

// A Process is a service's process, of the program that runs it.
type Process struct {
	Requests, Calls string // addresses, of HTTP and of gRPC

	command *exec.Cmd
	input   io.Closer
}

// Start starts the command, whose program calls Run.
func Start(command *exec.Cmd) (*Process, error) {
	p := &Process{command: command}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.input, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &p.Requests, &p.Calls)
	}
	if err != nil {
		_ = p.input.Close()
		return nil, fmt.Errorf("starting %s: %w", command, cmp.Or(command.Wait(), err))
	}
	return p, nil
}

// Stop ends the process by the end of its input, and waits for it.
func (p *Process) Stop() error { return errors.Join(p.input.Close(), p.command.Wait()) }

// deliveryTime is how long a process may take to deliver what is left.
const deliveryTime = 2 * time.Minute

// Used makes the process deliver what is left, and returns what it has used.
func (p *Process) Used(ctx context.Context) (u process.Usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, deliveryTime)
	defer cancel()
	return u, p.post(ctx, usedPath, &u)
}

// Load makes the process load itself: service and client are one process then.
func (p *Process) Load(ctx context.Context, l Load) (did Loaded, err error) {
	ctx, cancel := context.WithTimeout(ctx, l.Length+deliveryTime)
	defer cancel()
	return did, p.post(ctx, loadPath+"?"+l.query(), &did)
}

// post makes one of the package's own requests, and decodes its answer.
func (p *Process) post(ctx context.Context, path string, answer any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.Requests+path,
		http.NoBody)
	if err != nil {
		return err
	}
	r.Close = true // no connection stays between two questions
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, body)
	}
	return json.Unmarshal(body, answer)
}

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/perfline/perfline/integration/backend"
	"github.com/perfline/perfline/lab/scripted"
)

// A till is a process of the service with the bug: see package till.
type till struct {
	url   string
	cmd   *exec.Cmd
	input io.Closer
	log   bytes.Buffer // complete after stop
}

// buildTill builds the service into a directory. Its binary has no paths of this machine.
func buildTill(ctx context.Context, dir string) (program string, err error) {
	program = filepath.Join(dir, "till")
	build := exec.CommandContext(ctx, "go", "run", "-trimpath", "-exec", "cp",
		"github.com/perfline/perfline/lab/transcript/till", program)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the till: %w\n%s", err, out)
	}
	return program, nil
}

func startTill(ctx context.Context, program, boxes string) (*till, error) {
	t := &till{cmd: exec.CommandContext(ctx, program, boxes)}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL_") && !strings.HasPrefix(v, "PERFLINE_") {
			t.cmd.Env = append(t.cmd.Env, v)
		}
	}
	t.cmd.Stderr = &t.log
	output, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if t.input, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the till says no address: %w", cmp.Or(t.cmd.Wait(), err))
	}
	t.url = "http://" + strings.TrimSpace(line)
	return t, nil
}

// stop ends the process.
func (t *till) stop() error { return errors.Join(t.input.Close(), t.cmd.Wait()) }

// crash has the process die while it serves two requests.
func (t *till) crash(ctx context.Context) error {
	send := func(method, path string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, method, t.url+path, http.NoBody)
		if err != nil {
			return nil, err
		}
		return http.DefaultClient.Do(r)
	}
	report, err := send(http.MethodGet, "/reports/2026-11")
	if err != nil {
		return err
	}
	defer report.Body.Close()
	if answer, err := send(http.MethodPost, "/orders/17/invoice"); err == nil {
		return errors.Join(fmt.Errorf("the till answers %s, and should die", answer.Status),
			answer.Body.Close(), t.stop())
	}
	if err := t.cmd.Wait(); err == nil {
		return errors.New("the till ended well, and should die")
	}
	return nil
}

// readReport returns the report of the black box in a directory, as the command blackbox prints it,
// up to the first goroutine in the last words of the Go runtime.
func readReport(ctx context.Context, dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.blackbox"))
	if err != nil || len(files) != 1 {
		return "", errors.Join(err, fmt.Errorf("black boxes %q: must be one", files))
	}
	read := exec.CommandContext(ctx, "go", "run", "github.com/perfline/perfline/blackbox", files[0])
	out, err := read.Output()
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", files[0], err)
	}
	report, _, _ := strings.Cut(string(out), "\n\ngoroutine ")
	return strings.TrimSpace(report), nil
}

// afterCrash has a service die, and asks the next process as an agent does after "it crashed": from
// the routes to the request that crashed. It returns the transcript, and what the black box says
// without an agent: the report, and the next process's line in the log.
func afterCrash(ctx context.Context) (text bytes.Buffer, report string, err error) {
	dir, err := os.MkdirTemp("", "till")
	if err != nil {
		return text, "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	program, err := buildTill(ctx, dir)
	if err != nil {
		return text, "", err
	}
	first, err := startTill(ctx, program, dir)
	if err != nil {
		return text, "", err
	}
	if err := first.crash(ctx); err != nil {
		return text, "", err
	}
	if report, err = readReport(ctx, dir); err != nil {
		return text, "", err
	}
	next, err := startTill(ctx, program, dir)
	if err != nil {
		return text, "", err
	}
	if text, err = askAfterCrash(ctx, next.url); err != nil {
		return text, "", errors.Join(err, next.stop())
	}
	if err := next.stop(); err != nil {
		return text, "", err
	}
	line, _, _ := strings.Cut(next.log.String(), "\n")
	report = fmt.Sprintf("```text\n%s\n```\n\n```text\n%s\n```\n", report, line)
	return text, report, nil
}

// askAfterCrash asks the process after a crash, and returns the transcript.
func askAfterCrash(ctx context.Context, url string) (text bytes.Buffer, err error) {
	a, err := scripted.Start(ctx, url+"/debug/perfline/mcp")
	if err != nil {
		return text, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	a.Log = func(call scripted.Step, answer string) { write(&text, call, answer) }
	answer := ""
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = backend.Poll(wait, func() (bool, error) { // Start reads the file in the background
		text.Reset()
		if answer, err = a.Call(ctx, scripted.Step{Tool: "list_routes"}); err != nil {
			return false, err
		}
		_, err := scripted.Suggestion(answer, "get_deaths")
		return err == nil, nil
	})
	if err != nil {
		return text, err
	}
	for _, tool := range []string{"get_deaths", "get_request"} {
		if answer, err = a.Follow(ctx, answer, tool); err != nil {
			return text, err
		}
	}
	_, line, ok := strings.Cut(answer, "Its goroutine crashed: ‹")
	line, _, closed := strings.Cut(line, "›")
	if !ok || !closed || !strings.Contains(line, "main.(*order).render (till/main.go:") {
		return text, fmt.Errorf("no line of the program in\n%s", answer)
	}
	_, err = fmt.Fprintf(&text, "The line, as the agent reports it: `%s`.\n", line)
	return text, err
}

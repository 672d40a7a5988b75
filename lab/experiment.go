package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/perfline/perfline/lab/internal/figures"
)

// An experiment is a part of the laboratory.
type experiment struct {
	name string
	what string

	// Each command is a program of this module, with its arguments. It gets -figures as well.
	long  []string
	short []string // nil: a short run leaves the experiment out

	do func(context.Context, *setting) error // in place of commands
}

// A setting is how an experiment is run.
type setting struct {
	short   bool
	figures string // the file for figures
	out     io.Writer

	cpu time.Duration // of the commands so far, with their children
}

// A result is what came of an experiment.
type result struct {
	experiment
	began   time.Time
	took    time.Duration
	cpu     time.Duration
	figures []figures.Figure
	err     error
}

func (r result) verdict() string {
	switch {
	case r.err != nil:
		return "failed"
	case slices.ContainsFunc(r.figures,
		func(f figures.Figure) bool { return f.Result == figures.Missed }):
		return "missed"
	default:
		return "ok"
	}
}

// run runs all commands of an experiment, also after one that failed. It returns an error that
// names those that failed.
func (e experiment) run(ctx context.Context, s *setting) error {
	if e.do != nil {
		return e.do(ctx, s)
	}
	commands := e.long
	if s.short {
		commands = e.short
	}
	var failed []string
	for _, c := range commands {
		fmt.Fprintf(s.out, "--- go run -C lab %s\n", c)
		if err := program(ctx, s, strings.Fields(c)); err != nil {
			failed = append(failed, fmt.Sprintf("%s: %v", c, err))
		}
	}
	if failed != nil {
		return fmt.Errorf("%s", strings.Join(failed, "; "))
	}
	return nil
}

// program runs a program of this module. In a short run its figures mean nothing, and go nowhere.
func program(ctx context.Context, s *setting, words []string) error {
	args := []string{"run", words[0]}
	if !s.short {
		args = append(args, "-figures", s.figures)
	}
	var log bytes.Buffer
	err := s.goCommand(ctx, io.MultiWriter(s.out, &log), ".", append(args, words[1:]...)...)
	if err != nil {
		text := log.String()
		return fmt.Errorf("%w; its output ends with\n%s", err, text[max(0, len(text)-endOfOutput):])
	}
	return nil
}

// endOfOutput is how many bytes of a failed program's output its error repeats. What follows the
// program may fill pages.
const endOfOutput = 3000

// goCommand runs the go command in a folder, and prints its times. When ctx ends, the command gets
// an interrupt, and so stops what it has started.
func (s *setting) goCommand(ctx context.Context, out io.Writer, folder string,
	args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, out, out
	// In a group of its own, to which the interrupt goes: go run has a child.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = time.Minute
	began := time.Now()
	err := cmd.Run()
	if cmd.ProcessState != nil {
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		fmt.Fprintf(s.out, "--- %.1f s, CPU %.1f s\n", time.Since(began).Seconds(), cpu.Seconds())
		s.cpu += cpu
	}
	return err
}

package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/perfline/perfline/marks"
)

// A spool has a pipe whose writer is late.
type spool struct {
	from, to *os.File
	jobs     chan time.Duration
	call     func(context.Context, time.Duration) error
}

// startSpool starts the writer, which ends with ctx.
func startSpool(ctx context.Context, call func(context.Context, time.Duration) error) (*spool,
	error) {
	from, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s := &spool{from: from, to: to, jobs: make(chan time.Duration, 1), call: call}
	go s.write(ctx)
	return s, nil
}

// write is the late writer: it calls the dependency first.
func (s *spool) write(ctx context.Context) {
	for {
		select {
		case takes := <-s.jobs:
			if err := s.call(ctx, takes); err != nil {
				slog.Error("spool", "error", err)
			}
			if _, err := io.WriteString(s.to, "."); err != nil {
				slog.Error("spool", "error", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// print waits for the writer, or for the output of a program.
func (s *spool) print(ctx context.Context, way string, takes time.Duration) error {
	ctx, span := marks.Start(ctx, "spool.print")
	defer span.End()
	if way == executing {
		return convert(ctx, takes)
	}
	s.jobs <- takes // has room
	return s.read()
}

//go:noinline
func (s *spool) read() error {
	var answer [1]byte
	_, err := io.ReadFull(s.from, answer[:])
	return err
}

// convert runs a program that writes late.
//
//go:noinline
func convert(ctx context.Context, takes time.Duration) error {
	command := exec.CommandContext(ctx, "sh", "-c",
		fmt.Sprintf("sleep %f && echo done", takes.Seconds()))
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	if _, err := io.ReadAll(output); err != nil {
		return err
	}
	return command.Wait()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// burnWord is the argument that makes this program one of the other programs that take processors.
const burnWord = "burn"

// burnersPerCore is how many other programs run for each core.
const burnersPerCore = 4

// burn takes one processor until the program's input ends.
func burn(context.Context) error {
	go new(page).layout(time.Now().Add(time.Hour))
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// startBurners starts other programs.
func startBurners(ctx context.Context) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var stops []func() error
	stop = func() {
		for _, s := range stops {
			_ = s() // it has no work that could be lost
		}
	}
	for range burnersPerCore * runtime.NumCPU() {
		command := exec.CommandContext(ctx, self, burnWord)
		command.Env = append(os.Environ(), asService+"=1")
		input, err := command.StdinPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("other programs: %w", err)
		}
		stops = append(stops, func() error { return errors.Join(input.Close(), command.Wait()) })
	}
	return stop, nil
}

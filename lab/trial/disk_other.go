//go:build !linux

package main

import (
	"errors"
	"fmt"
	"runtime"
)

func mount(string, int) error {
	return fmt.Errorf("small disks are made on Linux only: %w on %s", errors.ErrUnsupported,
		runtime.GOOS)
}

func unmount(string) error { return errors.ErrUnsupported }

func fill(string) error { return errors.ErrUnsupported }

func empty(string) error { return errors.ErrUnsupported }

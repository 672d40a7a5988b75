package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// mount puts an empty file system of so many bytes, in memory, over a folder.
func mount(dir string, size int) error {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		return fmt.Errorf("mounting a tmpfs over %s: %w", dir, err)
	}
	return nil
}

// unmount takes it away again.
func unmount(dir string) error {
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("unmounting %s: %w", dir, err)
	}
	return nil
}

// filler is the file that takes all the room.
const filler = "filler"

// fill writes until there is no room left.
func fill(dir string) error {
	f, err := os.Create(filepath.Join(dir, filler))
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for {
		n, err := f.Write(block)
		switch {
		case errors.Is(err, syscall.ENOSPC) && n == 0:
			return nil
		case err != nil && !errors.Is(err, syscall.ENOSPC): // else a part had room
			return fmt.Errorf("filling %s: %w", dir, err)
		}
	}
}

// empty makes room again.
func empty(dir string) error { return os.Remove(filepath.Join(dir, filler)) }

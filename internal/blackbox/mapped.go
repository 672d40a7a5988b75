package blackbox

import (
	"errors"
	"os"
	"runtime"
)

// errLiving says that a living process has the file.
var errLiving = errors.New("a living process has the file")

// Unsupported returns an error on an operating system without black boxes.
func Unsupported() error { return unsupported(runtime.GOOS) }

func unsupported(system string) error {
	switch system {
	case "linux", "darwin", "windows":
		return nil
	default:
		return errors.New("there is no black box on " + system)
	}
}

// fill gives a file a size, and writes all of it, so that the disk has room.
func fill(f *os.File, size int) error {
	zero := make([]byte, 64<<10)
	for at := 0; at < size; at += len(zero) {
		if _, err := f.WriteAt(zero[:min(len(zero), size-at)], int64(at)); err != nil {
			return err
		}
	}
	return nil
}

//go:build linux || darwin

package blackbox

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Open fails on a disk without room for the whole file, and leaves nothing behind. The limit of a file's size is a full
// disk for this process alone.
func TestFullDisk(t *testing.T) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	small := limit
	small.Cur = 1 << 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, err := Open(Config{Dir: dir, Self: nobody, Failed: func(err error) { t.Error(err) }})
	if e := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); e != nil {
		t.Fatal(e)
	}
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "of 8 MiB: ") || !strings.Contains(err.Error(), "file too large") {
		t.Errorf("the error is %v", err)
	}
	if left := must(os.ReadDir(dir)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A file system that cannot reserve room gets all bytes written.
func TestFill(t *testing.T) {
	f := must(os.CreateTemp(t.TempDir(), ""))
	defer f.Close()
	const odd = 100_001
	if err := fill(f, odd); err != nil {
		t.Fatal(err)
	}
	if info := must(f.Stat()); info.Size() != odd {
		t.Errorf("%d bytes", info.Size())
	}
	readOnly := must(os.Open(f.Name()))
	defer readOnly.Close()
	if err := fill(readOnly, odd); err == nil || !strings.Contains(err.Error(), f.Name()) {
		t.Errorf("a file that cannot be written: %v", err)
	}
}

// A process that opens a file just before another process removes the file does not report it once more.
func TestRemovedBeforeTheLock(t *testing.T) {
	for _, replaced := range []bool{false, true} {
		name := boxFile(t, t.TempDir(), nil)
		f := must(os.OpenFile(name, os.O_RDWR, 0))
		defer f.Close()
		other, err := Take(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := claim(f, name); !errors.Is(err, errLiving) {
			t.Errorf("a file that another process reports: %v", err)
		}
		if err := other.Remove(); err != nil {
			t.Fatal(err)
		}
		if replaced {
			boxFile(t, filepath.Dir(name), nil)
		}
		if err := claim(f, name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file that another process has removed: %v", err)
		}
	}
}

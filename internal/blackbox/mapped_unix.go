//go:build linux || darwin

package blackbox

import (
	"errors"
	"os"
	"syscall"
)

// create creates the file of a box, which no other process can see before it is locked.
func create(name string) (*os.File, error) {
	temporary := name + ".new"
	f, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err = lock(f); err == nil {
		err = os.Rename(temporary, name)
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(temporary)
		return nil, err
	}
	return f, nil
}

// open opens the file of a process that is gone, and locks it. open returns errLiving if a process
// holds the file locked.
func open(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err = claim(f, name); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// claim locks a file that was opened by a name. Another process may have removed the file before
// the lock.
func claim(f *os.File, name string) error {
	if err := lock(f); err != nil {
		return err
	}
	held, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Stat(name)
	if err == nil && !os.SameFile(held, now) {
		err = os.ErrNotExist
	}
	return err
}

// lock locks a file until the file is closed. The lock belongs to the open file, so it also holds
// in other namespaces of process ids, and against other boxes of the same process.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return errLiving
	default:
		return os.NewSyscallError("flock", err)
	}
}

// unlock ends the lock of a file that stays mapped: otherwise the mapping has the lock.
func unlock(f *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(f.Fd()), syscall.LOCK_UN))
}

// mapFile maps a file of a size, which has room on the disk for all of it.
func mapFile(f *os.File, size int) ([]byte, error) {
	if err := allocate(f, size); err != nil {
		return nil, err
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_SHARED)
	return b, os.NewSyscallError("mmap", err)
}

func unmap(b []byte) { _ = syscall.Munmap(b) }

// openUnlocked opens a file for reading. openUnlocked returns errLiving if a process holds the file
// locked.
func openUnlocked(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		_ = f.Close()
		return nil, errLiving
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) // at once, for the next start
	return f, nil
}

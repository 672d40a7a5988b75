package blackbox

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// create creates the file of a box. No other process can open the file until it is closed.
func create(name string) (*os.File, error) { return exclusive(name, syscall.CREATE_NEW) }

// open opens the file of a process that is gone, in the same way. open returns errLiving if a
// process has the file open.
func open(name string) (*os.File, error) { return exclusive(name, syscall.OPEN_EXISTING) }

const sharingViolation = syscall.Errno(32)

func exclusive(name string, mode uint32) (*os.File, error) {
	path, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(path, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, mode,
		syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, sharingViolation):
		return nil, errLiving
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(h), name), nil
}

// unlock does nothing: the lock ends with the handle.
func unlock(*os.File) error { return nil }

// mapFile maps a file of a size, which has room on the disk for all of it.
func mapFile(f *os.File, size int) ([]byte, error) {
	if err := fill(f, size); err != nil {
		return nil, err
	}
	m, err := syscall.CreateFileMapping(syscall.Handle(f.Fd()), nil, syscall.PAGE_READWRITE, 0,
		uint32(size), nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateFileMapping", err)
	}
	at, err := syscall.MapViewOfFile(m, syscall.FILE_MAP_WRITE, 0, 0, uintptr(size))
	_ = syscall.CloseHandle(m) // the view keeps the mapping
	if err != nil {
		return nil, os.NewSyscallError("MapViewOfFile", err)
	}
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), size), nil
}

func unmap(b []byte) {
	_ = syscall.UnmapViewOfFile(uintptr(unsafe.Pointer(&b[0]))) //nolint:gosec // mapped
}

// refuse returns an error for a directory that cannot hold a box.
func refuse(string) error { return nil }

func bootID() string { return "" }

// openUnlocked opens a file for reading. openUnlocked returns errLiving if a process has the file
// open.
func openUnlocked(name string) (*os.File, error) {
	f, err := os.Open(name)
	if errors.Is(err, sharingViolation) {
		return nil, errLiving
	}
	return f, err
}

package blackbox

import (
	"fmt"
	"os"
	"syscall"
)

func allocate(f *os.File, size int) error { return fill(f, size) }

// refuse returns an error for a directory on a file system that cannot hold a box.
func refuse(dir string) error {
	const local = 0x1000 // MNT_LOCAL of statfs(2)
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return os.NewSyscallError("statfs", err)
	}
	if s.Flags&local == 0 {
		return fmt.Errorf("%s is on another machine: the black box needs a local file system", dir)
	}
	return nil
}

func bootID() string {
	id, _ := syscall.Sysctl("kern.bootsessionuuid")
	return id
}

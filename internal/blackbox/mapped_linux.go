package blackbox

import (
	"fmt"
	"os"
	"strings"
	"syscall"
)

// allocate gives the file a size, and blocks on the disk: a write to a mapped file without a block
// would fail when the disk is full.
func allocate(f *os.File, size int) error {
	for {
		switch err := syscall.Fallocate(int(f.Fd()), 0, 0, int64(size)); err {
		case syscall.EINTR:
		case syscall.EOPNOTSUPP:
			return fill(f, size)
		default:
			return os.NewSyscallError("fallocate", err)
		}
	}
}

// The types of file systems on which a mapped file depends on another machine or on another
// process, of statfs(2).
var remote = map[uint32]string{
	0x6969: "NFS", 0xff534d42: "CIFS", 0xfe534d42: "SMB2", 0x517b: "SMB", 0x01021997: "9P",
	0x65735546: "FUSE", 0x00c36400: "Ceph", 0x5346414f: "AFS", 0x73757245: "Coda",
	0x0bd00bd0: "Lustre", 0x7461636f: "OCFS2", 0x01161970: "GFS2", 0x19830326: "BeeGFS",
	0x47504653: "GPFS", 0x786f4256: "VirtualBox's shared folders",
	0xbacbacbc: "VMware's shared folders",
}

// refuse returns an error for a directory on a file system that cannot hold a box.
func refuse(dir string) error {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return os.NewSyscallError("statfs", err)
	}
	return refuseType(dir, uint32(s.Type)) //nolint:gosec // the lower half is the type
}

func refuseType(dir string, fileSystem uint32) error {
	if name, ok := remote[fileSystem]; ok {
		return fmt.Errorf("%s is on %s: the black box needs a local file system", dir, name)
	}
	return nil
}

func bootID() string {
	text, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(text))
}

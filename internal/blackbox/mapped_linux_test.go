package blackbox

import (
	"os"
	"runtime"
	"strings"
	"testing"
)

// A directory on a file system of another machine is refused, by its name.
func TestRefusesNetworks(t *testing.T) {
	const ext4, tmpfs, overlay, xfs, btrfs = 0xef53, 0x01021994, 0x794c7630, 0x58465342, 0x9123683e
	for _, local := range []uint32{ext4, tmpfs, overlay, xfs, btrfs} {
		if err := refuseType("/box", local); err != nil {
			t.Error(err)
		}
	}
	for fileSystem, name := range map[uint32]string{0x6969: "NFS", 0xfe534d42: "SMB2", 0xff534d42: "CIFS", 0x65735546: "FUSE", 0x01021997: "9P"} {
		if err := refuseType("/box", fileSystem); err == nil || !strings.HasPrefix(err.Error(), "/box is on "+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := refuse("/absent"); err == nil {
		t.Error("an absent directory is no error")
	}
}

// Other systems have no black box.
func TestUnsupported(t *testing.T) {
	if Unsupported() != nil || unsupported("darwin") != nil || unsupported("windows") != nil {
		t.Error("a system with black boxes has none")
	}
	if err := unsupported("plan9"); err == nil || err.Error() != "there is no black box on plan9" {
		t.Error(err)
	}
}

// The memory of a box that was closed goes when nothing can write to it any more.
func TestUnmapped(t *testing.T) {
	dir := t.TempDir()
	for range 10 {
		b, err := Open(Config{Dir: dir, Self: nobody, Failed: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		end(begin(b, "GET /"))
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for strings.Contains(string(must(os.ReadFile("/proc/self/maps"))), dir) {
		runtime.GC()
	}
}

package recipes_test

import (
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// startPostgreSQL starts a server with a database of its own. It does not run as root, and takes connections through a socket.
func startPostgreSQL(t *testing.T) (dsn string) {
	t.Helper()
	control := program(t, "pg_ctl", "/usr/lib/postgresql/*/bin/pg_ctl")
	folder, err := os.MkdirTemp("", "postgresql") // the parent of t.TempDir is closed to other users
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		u, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(folder, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(control, append(args, "--pgdata", filepath.Join(folder, "data"), "--log", filepath.Join(folder, "log"))...)
		cmd.Dir, cmd.SysProcAttr = folder, as
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	run("init", "--options", "--auth trust --username shop --no-sync --no-locale")
	run("start", "--wait", "--options", "-k "+folder+" -c listen_addresses= -c fsync=off")
	t.Cleanup(func() { run("stop", "--wait", "--mode", "fast") })
	return "host=" + folder + " user=shop dbname=postgres"
}

// start starts a server, which ends with the test.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// wait waits until a server listens on a socket.
func wait(t *testing.T, socket string) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return
		} else if time.Now().After(until) {
			t.Fatal(err)
		}
	}
}

// program returns the path of a server's program. CI installs them.
func program(t *testing.T, name, elsewhere string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if found, _ := filepath.Glob(elsewhere); len(found) > 0 {
		return found[len(found)-1]
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", name)
	}
	t.Skipf("%s is not installed", name)
	return ""
}

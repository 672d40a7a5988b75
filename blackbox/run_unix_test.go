//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/perfline/perfline/internal/blackbox"
)

func withoutTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func TestRunSignals(t *testing.T) {
	// The tests themselves may run under nohup, or in the background of a shell: a program does not inherit that a
	// signal is ignored if the signal is handled here.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	t.Cleanup(func() { signal.Stop(handled) })
	for _, s := range []os.Signal{
		syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	} {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			testSignal(t, command("wait", "run", "-dir", t.TempDir(), "--", os.Args[0]), s, s)
		})
	}
}

// A program that nohup starts gets no SIGHUP.
func TestRunIgnoredSignal(t *testing.T) {
	cmd := command("wait", "-c", `trap "" HUP; exec "$@"`, "sh", os.Args[0], "run", "-dir", t.TempDir(), "--", os.Args[0])
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Path = shell
	testSignal(t, cmd, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGTERM)
}

// testSignal sends signals to the command. The first one that the program gets must be want.
func testSignal(t *testing.T, cmd *exec.Cmd, want os.Signal, all ...os.Signal) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "ready" {
	}
	for _, s := range all {
		if err := cmd.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	lines.Scan()
	if got := lines.Text(); got != "got "+want.String() {
		t.Errorf("the program %s, want %s", got, want)
	}
	_, _ = io.Copy(io.Discard, out)
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("%s, want 4", cmd.ProcessState)
	}
}

func TestRunKilled(t *testing.T) {
	for _, c := range []struct {
		program string
		kind    blackbox.Kind
		note    string
		code    int
	}{
		{"kill", blackbox.Killed, "signal: killed", 128 + 9},
		{"stop", blackbox.Exited, "exit status 5", 5}, // and continue
		{"orphan", blackbox.Exited, "exit status 7", 7},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			if o, d := runs(t, c.program); o.code != c.code || d.Kind != c.kind || d.Exit != c.note {
				t.Errorf("exit code %d, kind %s, note %q; want %d, %s, %q\n%s", o.code, d.Kind, d.Exit, c.code, c.kind, c.note, o.stderr)
			}
		})
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// child starts the binary of the tests as another program.
func child(as string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), testAs+"="+as)
	cmd.Stderr = os.Stderr
	return cmd
}

// helper is a program without a black box. It returns if as is no helper.
func helper(as string) {
	switch as {
	case "stopper": // stops a process, and lets it continue
		var pid int
		_, err := fmt.Sscan(os.Args[1], &pid)
		must(err)
		for range 20 { // often, because the parent may look too late
			must(syscall.Kill(pid, syscall.SIGSTOP))
			time.Sleep(time.Millisecond)
			must(syscall.Kill(pid, syscall.SIGCONT))
		}
		os.Exit(0)
	case "parent": // starts an orphan, which holds the standard output and ends with the standard input
		orphan := child("orphaned")
		orphan.Stdin, orphan.Stdout = os.Stdin, os.Stdout
		must(orphan.Start())
		fmt.Println(orphan.Process.Pid)
		os.Exit(0)
	case "orphaned":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
}

func programUnix(how string) {
	switch how {
	case "kill":
		must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
		select {}
	case "wait":
		all := make(chan os.Signal, 1)
		signal.Notify(all, forwarded...)
		fmt.Println("ready")
		fmt.Println("got", <-all)
		os.Exit(4)
	case "stop":
		must(child("stopper", fmt.Sprint(os.Getpid())).Run())
		os.Exit(5)
	case "orphan":
		cmd := child("parent")
		read, write, err := os.Pipe() // files: Wait must not wait for the orphan
		must(err)
		orphanRead, orphanWrite, err := os.Pipe()
		must(err)
		cmd.Stdin, cmd.Stdout = orphanRead, write
		must(cmd.Start())
		line, err := bufio.NewReader(read).ReadString('\n')
		must(err)
		var pid int
		_, err = fmt.Sscan(line, &pid)
		must(err)
		must(cmd.Wait())
		must(orphanWrite.Close())
		for syscall.Kill(pid, 0) == nil { // also while the orphan is a zombie
			time.Sleep(time.Millisecond)
		}
		os.Exit(7)
	}
}

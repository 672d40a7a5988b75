//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// forwarded are the signals that the program gets. Signals that stop a process are not among them:
// the terminal and the shell send these signals to the whole job.
var forwarded = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTERM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// fromTerminal reports whether the program has got a signal, because the terminal sends the signal
// to the whole job. A second SIGINT would end many programs at once.
func fromTerminal(s os.Signal) bool {
	switch s {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH:
	default:
		return false
	}
	terminal, err := os.Open("/dev/tty") // of this process; without one, open fails
	if err != nil {
		return false
	}
	_ = terminal.Close()
	return true
}

// wait waits until the program ends, and returns its state as an os.ProcessState words it, and the
// exit code of the command. Orphans that end are children of process 1: wait takes their states,
// too, so that they do not stay zombies. wait ignores children that stop.
func wait(cmd *exec.Cmd) (state string, code int) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return err.Error(), exitNotFound
		case pid != cmd.Process.Pid:
		case status.Signaled():
			state = "signal: " + status.Signal().String()
			if status.CoreDump() {
				state += " (core dumped)"
			}
			return state, 128 + int(status.Signal())
		default:
			return fmt.Sprintf("exit status %d", status.ExitStatus()), status.ExitStatus()
		}
	}
}

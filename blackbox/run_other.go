//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// forwarded are signals that must not end the command before the program. The console sends them to
// the program, too.
var forwarded = []os.Signal{os.Interrupt}

func fromTerminal(os.Signal) bool { return true }

// wait waits until the program ends, and returns its state, and the exit code of the command.
func wait(cmd *exec.Cmd) (state string, code int) {
	_ = cmd.Wait() // the state tells more
	return cmd.ProcessState.String(), cmd.ProcessState.ExitCode()
}

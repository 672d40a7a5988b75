package main

import (
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/environ"
)

const dirVariable = "PERFLINE_BLACKBOX_DIR"

// run runs a program, and returns the exit code of the command.
func run(args []string) int {
	flags := flag.NewFlagSet("blackbox run", flag.ContinueOnError)
	flags.Usage = func() { complain(usage) }
	dir := flags.String("dir", environ.Get(dirVariable), "")
	if flags.Parse(args) != nil {
		return exitUsage
	}
	if *dir == "" || flags.NArg() == 0 {
		complain(usage)
		return exitUsage
	}
	absolute, err := filepath.Abs(*dir)
	if err != nil {
		complain("blackbox: " + err.Error() + "\n")
		return exitUsage
	}
	return runProgram(absolute, flags.Args())
}

func runProgram(dir string, args []string) int {
	earlier, _ := blackbox.Find(dir)          // the program makes the directory
	cmd := exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // the user names the program
	cmd.Env = append(os.Environ(), dirVariable+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 16)
	for _, s := range forwarded { // before the start: a signal must not end the parent alone
		if !signal.Ignored(s) { // as nohup has it, also for the program
			signal.Notify(signals, s)
		}
	}
	if err := cmd.Start(); err != nil {
		complain("blackbox: " + err.Error() + "\n")
		return exitNotFound
	}
	go func() {
		for s := range signals {
			if !fromTerminal(s) {
				_ = cmd.Process.Signal(s) // an error says that the program has ended
			}
		}
	}()
	state, code := wait(cmd)
	if err := blackbox.NoteExit(dir, cmd.Process.Pid, state, earlier...); err != nil {
		complain("blackbox: the end of the program cannot be noted: " + err.Error() + "\n")
	}
	return code
}

// Blackbox prints what a program was serving when it died, from the files that
// perfline.Config.BlackBox or PERFLINE_BLACKBOX_DIR asks for. See docs/blackbox.md.
//
//	blackbox FILE|DIRECTORY...
//	blackbox run [-dir DIRECTORY] -- PROGRAM [ARGUMENT...]
//
// The first form prints the report of each file, or of each file in a directory, the newest first.
// For the file of a living process, a line says that there is no report. The command changes and
// removes no file. The exit code is 1 if a file cannot be read, and 2 for wrong arguments.
//
// The second form starts a program with PERFLINE_BLACKBOX_DIR, and notes beside the program's files
// how the program ended. Only its parent knows: os.Exit and SIGKILL leave no other trace. Without
// -dir, the directory is the value of PERFLINE_BLACKBOX_DIR. The program has the standard input and
// outputs of the command. The command forwards SIGHUP, SIGINT, SIGQUIT, SIGABRT, SIGTERM, SIGUSR1,
// SIGUSR2 and SIGWINCH. With a terminal, SIGINT, SIGQUIT and SIGWINCH come from the terminal to
// both. The exit code is the program's one, or 128 and the number of the signal that ended the
// program, or 127 if the program does not start.
//
// As process 1 of a container, the command also waits for the orphans of the container. The kernel
// may kill all processes of a container at the memory limit (memory.oom.group, as in Kubernetes).
// Then the command cannot note the end, and the kind is "killed or exited". The report says how
// much memory the container used.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/perfline/perfline/internal/blackbox"
	"github.com/perfline/perfline/internal/text"
)

// The exit codes of the command.
const (
	exitUnread   = 1   // a file cannot be read
	exitUsage    = 2   // the arguments are wrong
	exitNotFound = 127 // the program does not start, as a shell says it
)

const usage = `usage: blackbox FILE|DIRECTORY...
       blackbox run [-dir DIRECTORY] -- PROGRAM [ARGUMENT...]
`

func main() {
	args := os.Args[1:]
	switch {
	case len(args) == 0 || args[0] == "" || args[0][0] == '-':
		complain(usage)
		os.Exit(exitUsage)
	case args[0] == "run":
		os.Exit(run(args[1:]))
	}
	out := bufio.NewWriter(os.Stdout)
	err := printAll(out, args)
	if e := out.Flush(); e != nil { // which remembers the first error of the output
		err = errors.Join(err, e)
	}
	if err != nil {
		complain("blackbox: " + err.Error() + "\n")
		os.Exit(exitUnread)
	}
}

func complain(s string) { fmt.Fprint(os.Stderr, text.Escape(s, "\n")) }

// printAll prints the reports of files and directories. If a file cannot be read, printAll prints
// the other files, and returns the error.
func printAll(w io.Writer, names []string) (err error) {
	var files []string
	for _, name := range names {
		info, e := os.Stat(name)
		if e != nil || !info.IsDir() {
			files = append(files, name) // printing tells the error
			continue
		}
		found, e := blackbox.Find(name)
		if err = errors.Join(err, e); e == nil && len(found) == 0 {
			fmt.Fprintf(w, "%s: no black box of a process is here\n", text.Escape(name, ""))
		}
		files = append(files, found...)
	}
	for i, name := range files {
		if len(files) > 1 {
			if i > 0 {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "== %s\n", text.Escape(name, ""))
		}
		err = errors.Join(err, printFile(w, name))
	}
	return err
}

func printFile(w io.Writer, name string) error {
	d, err := blackbox.Peek(name)
	switch {
	case err != nil:
		return err
	case d == nil:
		fmt.Fprintln(w, "no report: the process lives, or the next start reads the file now")
		return nil
	}
	return d.Report().WriteText(w)
}

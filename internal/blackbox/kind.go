package blackbox

import "strings"

// A Kind says how a process ended.
type Kind string

// The kinds.
const (
	Ended       Kind = "ended"             // Shutdown ran, and no crash followed
	Panic       Kind = "panic"             // a panic that nothing recovered
	FatalError  Kind = "fatal error"       // of the Go runtime, such as "concurrent map writes"
	Signal      Kind = "signal"            // the Go runtime ended the process because of a signal
	MemoryLimit Kind = "memory limit"      // the kernel killed the process at its memory limit
	Restarted   Kind = "machine restarted" // and the process ended with the machine
	Killed      Kind = "killed"            // by a signal that no process can catch, or did not
	Exited      Kind = "exited"            // by os.Exit or log.Fatal, or main returned
	// Gone means killed or exited: a process leaves no trace that tells these apart. Its parent
	// knows: see NoteExit.
	Gone Kind = "killed or exited"
)

// kindOf returns how a process ended. exit is the note of the parent, or "". memory is the state of
// the process's control group now. boot names the start of the machine.
func kindOf(d *Death, memory Memory, boot string) Kind {
	killed := strings.HasPrefix(d.Exit, exitSignal)
	restarted := boot != "" && d.Facts.Boot != "" && boot != d.Facts.Boot
	switch {
	case d.Crash != nil:
		return d.Crash.Kind
	case d.Status.Ended:
		return Ended
	case strings.HasSuffix(d.Exit, exitLimit):
		return MemoryLimit
	case restarted && d.Exit == "": // a note says that the process ended before the machine
		return Restarted
	case !restarted && memory.Kills > d.Status.Memory.Kills && (d.Exit == "" || killed):
		return MemoryLimit
	case killed:
		return Killed
	case d.Exit != "":
		return Exited
	default:
		return Gone
	}
}

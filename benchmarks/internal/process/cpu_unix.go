//go:build unix

package process

import (
	"syscall"
	"time"
)

// CPUTime is the processor time the process has used, in user and kernel mode.
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

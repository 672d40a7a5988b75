//go:build unix

package process

import (
	"syscall"
	"time"
)

// CPUTime is the processor time the process has used, in user and kernel mode.
func CPUTime() time.Duration {
	u := usage()
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Switches counts the voluntary context switches of all threads: how often one waited.
func Switches() int64 { return int64(usage().Nvcsw) } //nolint:unconvert // it is 32 bits wide on some systems

func usage() (u syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for a wrong argument only
	return u
}

// Package cputime reads the CPU time of the process or of a thread. The kernel updates these times
// at each call, but the times of getrusage only with its tick. Functions return 0 if the time is
// unknown.
package cputime

import (
	"syscall"
	"time"
	"unsafe"
)

// Thread returns the CPU time of the calling thread, in user and kernel mode.
func Thread() time.Duration { return read(3) } // CLOCK_THREAD_CPUTIME_ID

// Process returns the CPU time of all threads of the process, in user and kernel mode.
func Process() time.Duration { return read(2) } // CLOCK_PROCESS_CPUTIME_ID

func read(clock uintptr) time.Duration {
	var ts syscall.Timespec
	address := uintptr(unsafe.Pointer(&ts))
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clock, address, 0); errno != 0 {
		return 0 // a sandbox forbids the call
	}
	return time.Duration(ts.Nano())
}

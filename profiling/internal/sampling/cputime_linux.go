package sampling

import (
	"syscall"
	"time"
	"unsafe"
)

// ThreadCPU is the CPU time that the calling thread has used, in user and kernel mode, and
// ProcessCPU that of all threads; 0 where it is not known. They are not getrusage's, which
// the kernel brings up to date with its tick.
func ThreadCPU() time.Duration { return cpuClock(3) } // CLOCK_THREAD_CPUTIME_ID

// ProcessCPU is the CPU time that the process has used, see [ThreadCPU].
func ProcessCPU() time.Duration { return cpuClock(2) } // CLOCK_PROCESS_CPUTIME_ID

func cpuClock(id uintptr) time.Duration {
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0 // a sandbox that forbids it
	}
	return time.Duration(ts.Nano())
}

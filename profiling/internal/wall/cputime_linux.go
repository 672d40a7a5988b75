package wall

import (
	"syscall"
	"time"
	"unsafe"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// cpuTime is the CPU time of the calling thread. It is not getrusage's, which the
// kernel brings up to date some hundred times a second only.
func cpuTime() time.Duration {
	const threadCPU = 3 // CLOCK_THREAD_CPUTIME_ID
	var ts syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCPU, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return time.Duration(sampling.Now()) // a sandbox that forbids it
	}
	return time.Duration(ts.Nano())
}

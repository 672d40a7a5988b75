package cpuprof

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// sleeps reports whether readProfile sleeps while the log is empty.
const sleeps = true

// nudge sends the calling thread a SIGPROF, which is handled before nudge returns. Then the log has
// a record with nudge on its stack, is full, or is off: readProfile does not sleep.
//
//go:noinline
func nudge() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), syscall.SIGPROF)
}

// tick returns the interval at which the kernel checks whether a thread has used up its timer.
func tick() time.Duration {
	const coarse = 6 // CLOCK_MONOTONIC_COARSE, which steps at each tick
	var r syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETRES, coarse, uintptr(unsafe.Pointer(&r)), 0)
	t := time.Duration(r.Nano())
	// Kernels have 100 to 1000 ticks a second; other values are not a tick.
	if errno != 0 || t < time.Millisecond || t > usualTick {
		return usualTick
	}
	return t
}

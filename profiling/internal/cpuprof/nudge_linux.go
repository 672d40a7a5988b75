package cpuprof

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// sleeps says that readProfile sleeps when there is nothing to read.
const sleeps = true

// nudge sends the calling thread a SIGPROF, which is handled before nudge returns. Then the log has
// a record with nudge on its stack, or it is full or off. In each case readProfile does not sleep.
//
//go:noinline
func nudge() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return syscall.Tgkill(syscall.Getpid(), syscall.Gettid(), syscall.SIGPROF)
}

// tick is how often the kernel looks whether a thread has used up its interval.
func tick() time.Duration {
	const coarse = 6 // CLOCK_MONOTONIC_COARSE, which steps at each tick
	var res syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETRES, coarse, uintptr(unsafe.Pointer(&res)),
		0)
	t := time.Duration(res.Nano())
	// Kernels are built with 100 to 1000 ticks a second; what else is told is not a tick.
	if errno != 0 || t < time.Millisecond || t > usualTick {
		return usualTick
	}
	return t
}

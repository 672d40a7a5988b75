package cputime

import (
	"runtime"
	"time"
)

// A Usage describes how the operating system has run the threads of the process so far. Unknown
// fields are zero.
type Usage struct {
	Process   time.Duration // in which threads ran, in user and kernel mode
	Throttled time.Duration // in which a limit of CPU time stopped threads, summed over processors
	Limit     float64       // processors of the limit that stopped most since the last Read, or 0
	Delayed   time.Duration // in which ready threads waited for a processor, summed over threads
}

// Spent calls f and returns the CPU time of f on its goroutine, or the duration of f if CPU time is
// unknown.
func Spent(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began, before := time.Now(), Thread()
	f()
	if now := Thread(); now > 0 {
		return now - before
	}
	return time.Since(began)
}

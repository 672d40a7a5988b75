package cputime

import (
	"runtime"
	"time"
)

// Spent calls f and returns the CPU time that f has used on its goroutine, or how long f took where
// CPU time is not known.
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

package cputime

import (
	"runtime"
	"time"
)

// A Usage contains the CPU time of the process so far. A Usage also contains the times for which
// threads waited for a processor. Unknown fields are zero.
type Usage struct {
	Process   time.Duration // CPU time of all threads, in user and kernel mode
	Throttled time.Duration // time for which CPU limits stopped threads, summed over processors
	Limit     float64       // processor limit with the most throttling since the last Read, or 0
	Delayed   time.Duration // time for which ready threads waited for a processor, over all threads
}

// Spent calls f, and returns the CPU time that the calling goroutine used in f. If CPU time is
// unknown, Spent returns the duration of f.
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

//go:build !linux

package profiling

import "time"

// cpuTime is the CPU time that the process has used; 0 where that is not known.
func cpuTime() time.Duration { return 0 }

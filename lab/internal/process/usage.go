package process

import (
	"runtime"
	"time"
)

// Usage is what the process has used since it began.
type Usage struct {
	CPU         time.Duration // user and kernel mode, all threads
	Switches    int64         // voluntary context switches
	Allocations uint64        // objects
	Bytes       uint64        // allocated
	Collections uint32        // of garbage
}

// Used returns the usage until now.
func Used() Usage {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Usage{CPU: CPUTime(), Switches: Switches(), Allocations: m.Mallocs, Bytes: m.TotalAlloc,
		Collections: m.NumGC}
}

// Since returns what was used between before and u.
func (u Usage) Since(before Usage) Usage {
	return Usage{u.CPU - before.CPU, u.Switches - before.Switches,
		u.Allocations - before.Allocations, u.Bytes - before.Bytes,
		u.Collections - before.Collections}
}

//go:build !linux

package wall

import (
	"time"

	"github.com/perfline/perfline/profiling/internal/sampling"
)

// cpuTime is the wall clock, which runs no slower than the thread's CPU time.
func cpuTime() time.Duration { return time.Duration(sampling.Now()) }

//go:build !linux

package sampling

import "time"

// ThreadCPU is the CPU time that the calling thread has used; 0: it is not known.
func ThreadCPU() time.Duration { return 0 }

// ProcessCPU is the CPU time that the process has used; 0: it is not known.
func ProcessCPU() time.Duration { return 0 }

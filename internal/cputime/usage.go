package cputime

import "time"

// A Usage is what the operating system has done with the threads of the process so far. It is zero
// where nothing is known.
type Usage struct {
	Process   time.Duration // that they ran, in user and kernel mode
	Throttled time.Duration // that a limit of CPU time has stopped them, summed over processors
	// in processors, the limit that has stopped them most since the last Usage; 0 if none has
	Limit   float64
	Delayed time.Duration // that threads were ready and waited for a processor, summed over threads
}

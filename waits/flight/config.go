package flight

import (
	"cmp"
	"log/slog"
	"math"
	"time"
)

// Config configures [NewRecorder]. A recorder with the zero value waits for Arm.
//
// An armed recorder writes an execution trace. On Go 1.26, trace.NewTask, trace.StartRegion and
// trace.Log with a type or a category of 64 KiB or more crash the program while a trace is written:
// cut such names if they come from outside.
type Config struct {
	Armed bool // perfline.Start arms the recorder until Disarm or Shutdown

	// Auto lets a slow request arm the recorder, for 60 s at most. Afterwards, slow requests do not
	// arm the recorder for 5 minutes, so that a service that stays slow is not armed all the time.
	// The arming request has no result. Results of requests under way begin with a gap.
	Auto bool

	// MinAge is the length of the window; 0 means 10 s. The part of a request before the window is
	// a gap in its result. With a MinAge as long as MinInterval, a slow request that waits for the
	// next snapshot is still in the window. A longer window costs more memory and CPU time.
	MinAge time.Duration

	// MaxBytes bounds the window, and wins over MinAge; 0 means 10 MiB. The runtime treats MaxBytes
	// as a hint: the window contains at least the last complete second. The snapshot needs memory
	// beside the window. The recorder drops a snapshot of more than four times MaxBytes.
	MaxBytes int

	// MinInterval is the least time between two snapshots; 0 means 10 s, negative means no limit.
	// Requests that become slow in the meantime share the next snapshot.
	MinInterval time.Duration

	// MaxCPU bounds the work of reading and analysing snapshots, as a share of one processor in any
	// minute; 0 means 0.05, which is 3 s. Negative means no limit. Work over the bound waits.
	MaxCPU float64

	// Requests bounds the number of stored results, within 8 MiB; 0 means 512, negative none. Over
	// the bounds, results of requests that have left the memory of perfline.Start's pipeline leave
	// first. The results of the least slow requests are next: they lose their goroutines, and then
	// their causes. Without perfline.Start, results of the slowest requests stay.
	Requests int

	Logger *slog.Logger // nil means perfline.Config's, or slog.Default() without perfline.Start
}

const (
	autoLength = 60 * time.Second // see Config.Auto
	autoPause  = 5 * time.Minute

	maxWaiting = 256 // most roots that wait for one snapshot

	maxResultBytes = 8 << 20 // approximate memory for the results

	// tickInterval is the interval of notes of the CPU time, and of checks for due snapshots.
	tickInterval = 100 * time.Millisecond

	// gatherTime is the time that the first slow request waits for others, to share its snapshot.
	gatherTime = tickInterval

	// settleTime is the least age of a root in a snapshot. Slow runs on the goroutine that ends the
	// request: then the last events of the request and of its waker are not in the trace yet.
	settleTime = 20 * time.Millisecond

	// generation is the time for which the runtime collects events before it cuts the trace. The
	// window consists of whole generations.
	generation = time.Second
)

// fill sets defaults.
func (c *Config) fill() {
	c.MinAge = min(cmp.Or(max(0, c.MinAge), 10*time.Second), math.MaxInt64-generation)
	c.MaxBytes = min(cmp.Or(max(0, c.MaxBytes), 10<<20), math.MaxInt/4)
	c.MinInterval = cmp.Or(c.MinInterval, 10*time.Second)
	c.MaxCPU = cmp.Or(c.MaxCPU, 0.05)
	c.Requests = max(0, cmp.Or(c.Requests, 512))
}

package flight

import (
	"cmp"
	"log/slog"
	"math"
	"time"
)

// Config configures [NewRecorder]. The zero value is a recorder that waits for Arm.
//
// An armed recorder writes an execution trace. On Go 1.26 the runtime ends a program that meanwhile
// calls trace.NewTask, trace.StartRegion or trace.Log with a type or a category of 64 KiB or more:
// cut such names if they come from outside.
type Config struct {
	Armed bool // perfline.Start arms the recorder until Disarm or Shutdown

	// Auto lets a slow request arm the recorder, for 60 s at most. Then slow requests do not arm it
	// for 5 minutes, so that a service that stays slow is not armed all the time. The request that
	// arms the recorder has no result itself. Requests that were under way at this moment have a
	// gap before it.
	Auto bool

	// MinAge is how far the window reaches back; 0 means 10 s. The part of a request before the
	// window is a gap in its result. With a MinAge as long as MinInterval, a slow request that has
	// to wait for the next snapshot is still in the window. A longer window costs more memory, and
	// each snapshot takes longer to read.
	MinAge time.Duration

	// MaxBytes bounds the window, and wins over MinAge; 0 means 10 MiB. The runtime takes it as a
	// hint: the window has at least the last complete second. Memory for the snapshot comes on top
	// of the window. A snapshot of more than four times MaxBytes is dropped.
	MaxBytes int

	// MinInterval is the least time between two snapshots; 0 means 10 s, and a negative one means
	// no limit. Requests that become slow in the meantime share the next snapshot.
	MinInterval time.Duration

	// MaxCPU bounds the work of reading and analysing snapshots, as a share of one processor in any
	// minute; 0 means 0.05, which is 3 s. A negative one means no limit. Work that is over the
	// bound waits.
	MaxCPU float64

	Requests    int // most recent results kept; 0 means 64, negative none
	ResultBytes int // approximate memory for all of them; 0 means 8 MiB, negative none

	Logger *slog.Logger // nil means perfline.Config's, or slog.Default() without perfline.Start
}

const (
	autoLength = 60 * time.Second // Config.Auto has both
	autoPause  = 5 * time.Minute

	maxWaiting = 256 // roots that wait for one snapshot

	// step is how often an armed recorder notes the process's CPU time, and looks whether a
	// snapshot is due.
	tickInterval = 100 * time.Millisecond

	// gather is how long the first of several slow requests waits for others that share its
	// snapshot.
	gatherTime = tickInterval

	// settle is the age at which a root may be part of a snapshot. Slow is called on the goroutine
	// that ends the request, before the last events of the request and of its waker are in the
	// trace.
	settleTime = 20 * time.Millisecond

	// generation is how long the runtime collects events before it cuts the trace. The window has
	// whole generations.
	generation = time.Second
)

// fill gives fields that are not set their defaults.
func (c *Config) fill() {
	c.MinAge = min(positiveOr(c.MinAge, 10*time.Second), math.MaxInt64-generation)
	c.MaxBytes = min(positiveOr(c.MaxBytes, 10<<20), math.MaxInt/4)
	c.MinInterval = cmp.Or(c.MinInterval, 10*time.Second)
	c.MaxCPU = cmp.Or(c.MaxCPU, 0.05)
	c.Requests = max(0, cmp.Or(c.Requests, 64))
	c.ResultBytes = max(0, cmp.Or(c.ResultBytes, 8<<20))
}

// defaulted returns v, or the default for a v that cannot be used.
func positiveOr[T time.Duration | int](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

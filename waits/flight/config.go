package flight

import (
	"cmp"
	"math"
	"time"
)

// Config configures [NewRecorder]. With the zero value, the recorder is disarmed until Arm.
//
// An armed recorder writes an execution trace. On Go 1.26, names of 64 KiB or more crash the
// program while the runtime writes a trace. If clients can choose the following names, cut the
// names before the call:
//
//   - the type of a call of trace.NewTask or trace.StartRegion
//   - the category of a call of trace.Log
type Config struct {
	// If Armed is true, perfline.Start arms the recorder until Disarm or Shutdown.
	Armed bool

	// If Auto is true, a slow request arms the recorder for 60 s at most. Afterwards, slow requests
	// cannot arm the recorder for 5 minutes. Therefore, a service that stays slow does not keep the
	// recorder armed all the time.
	//
	// For the request that arms the recorder, the recorder stores no result. If a request started
	// before the recorder was armed, the result of the request begins with a gap.
	Auto bool

	// MinAge is the length of the window; 0 means 15 s. The result shows the part of a request
	// before the window as a gap. A slow request may wait up to MinInterval for the next snapshot.
	// Therefore, the window always contains a request that took less than MinAge minus MinInterval,
	// which is 5 s by default. With a MinAge shorter than MinInterval, the request can leave the
	// window during this wait. Up to MaxBytes, a longer window costs more memory and CPU time.
	MinAge time.Duration

	// MaxBytes limits the size of the window, and overrides MinAge; 0 means 10 MiB. The runtime
	// treats MaxBytes as a hint: the window contains at least the last complete second. The
	// snapshot needs additional memory. The recorder drops snapshots of more than four times
	// MaxBytes.
	MaxBytes int

	// MinInterval is the minimum time between two snapshots; 0 means 10 s. A negative value means
	// no limit. Requests that become slow in the meantime share the next snapshot.
	MinInterval time.Duration

	// MaxCPU limits the CPU time for reading and analysing snapshots in any minute. MaxCPU is a
	// share of one processor; 0 means 0.05, which is 3 s a minute. A negative value means no limit.
	// The recorder delays work over the limit.
	MaxCPU float64

	// Requests is the largest number of stored results, within 8 MiB. 0 means 512, and a negative
	// value means none. Over these bounds, the results of requests that have left the memory of
	// perfline.Start's pipeline leave first. Then the results of the least slow requests lose their
	// goroutines, and later their causes. Without perfline.Start, results of the slowest requests
	// stay.
	Requests int
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
	c.MinAge = min(cmp.Or(max(0, c.MinAge), 15*time.Second), math.MaxInt64-generation)
	c.MaxBytes = min(cmp.Or(max(0, c.MaxBytes), 10<<20), math.MaxInt/4)
	c.MinInterval = cmp.Or(c.MinInterval, 10*time.Second)
	c.MaxCPU = cmp.Or(c.MaxCPU, 0.05)
	c.Requests = max(0, cmp.Or(c.Requests, 512))
}

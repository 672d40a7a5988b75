package runtimestats

import "time"

// A Sample contains the figures at one time, and rates since the previous sample. Unknown figures
// are NaN.
type Sample struct {
	At       time.Time
	Interval time.Duration // time since the previous sample; 0 in the first sample

	Heap       float64 // bytes of objects, live or not yet swept
	HeapGoal   float64 // bytes of the heap at the end of the next garbage collection
	Memory     float64 // bytes from the system, minus the bytes returned to the system
	Allocated  float64 // allocated bytes a second
	Goroutines float64
	GCCycles   float64 // garbage collections in the interval

	GCPauses  Distribution // pauses of the program by garbage collections
	Latencies Distribution // waits of ready goroutines for a processor
	MutexWait float64      // average number of goroutines that waited for a mutex

	CPU        CPU
	Processors float64 // GOMAXPROCS

	Recorded  float64 // entries a second that timelines recorded
	Accepted  float64 // spans a second that the delivery's queue accepted
	Delivered float64 // spans a second that the backend accepted
	Pending   float64 // spans in the queue
	Lost      uint64  // losses in the interval, of all causes
	LostInAll uint64  // losses since the program's start, of all causes
	Losses    []Loss  // causes of Lost, the largest first, at most 8
}

// CPU contains CPU times in cores. User, GC, Scavenge and Idle are averages between two garbage
// collections. The later garbage collection ended in the interval of the [Sample].
type CPU struct {
	// Process is the CPU time of all threads in the interval. Process is NaN if the system cannot
	// measure CPU time.
	Process  float64
	User     float64 // the program's code
	GC       float64 // garbage collection
	Scavenge float64 // return of memory to the system
	Idle     float64 // processors of Sample.Processors without work
}

// A Distribution contains the number of pauses or waits in the interval of a [Sample], and
// percentiles of the durations. P50, P99 and Max are the upper bounds of buckets, because the
// runtime counts durations in buckets.
type Distribution struct {
	Count         uint64
	P50, P99, Max time.Duration
}

// A Loss counts the losses in the interval for one cause. The text fields equal the fields of the
// [exporter.Count].
type Loss struct {
	Group, Kind, Name, What string
	N                       uint64 // losses in the interval
}

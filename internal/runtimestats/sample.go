package runtimestats

import "time"

// A Sample has the figures at a time, and rates since the sample before. A figure that is not known
// is NaN.
type Sample struct {
	At       time.Time
	Interval time.Duration // since the sample before; 0 of the first

	Heap     float64 // bytes of objects, live or not yet swept
	HeapGoal float64 // bytes of the heap at which the next garbage collection ends
	// bytes that the runtime has from the system, without those that it gave back
	Memory     float64
	Allocated  float64 // bytes a second
	Goroutines float64
	GCCycles   float64 // garbage collections in the interval

	GCPauses  Distribution // times when a garbage collection stopped the program
	Latencies Distribution // times that goroutines waited, ready to run, for a processor
	MutexWait float64      // goroutines that waited for a mutex, on average

	CPU        CPU
	Processors float64 // GOMAXPROCS

	Recorded  float64 // entries a second that timelines took
	Accepted  float64 // spans a second given to the delivery's queue
	Delivered float64 // spans a second that the backend accepted
	Pending   float64 // spans in the queue
	Lost      uint64  // in the interval, of all causes
	LostInAll uint64  // since the program's start, of all causes
	Losses    []Loss  // the largest first, at most 8
}

// CPU is CPU time in cores. The classes are averages between two garbage collections, of which the
// last is in the interval.
type CPU struct {
	Process  float64 // all threads, in the interval; NaN where the system has no clock for it
	User     float64 // code of the program
	GC       float64
	Scavenge float64 // giving memory back to the system
	Idle     float64 // of Sample.Processors: nothing ran
}

// A Distribution describes the durations in an interval.
type Distribution struct {
	Count         uint64
	P50, P99, Max time.Duration
}

// A Loss is a cause of losses, with the number in the interval. It has the names of its
// [exporter.Count].
type Loss struct {
	Group, Kind, Name, What string
	N                       uint64
}

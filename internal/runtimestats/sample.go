package runtimestats

import "time"

// A Sample holds the figures at a time, and rates since the previous sample. An unknown figure is
// NaN.
type Sample struct {
	At       time.Time
	Interval time.Duration // since the previous sample; 0 in the first sample

	Heap       float64 // bytes of objects, live or not yet swept
	HeapGoal   float64 // bytes of the heap at the end of the next garbage collection
	Memory     float64 // bytes from the system, without the bytes returned to the system
	Allocated  float64 // bytes a second
	Goroutines float64
	GCCycles   float64 // garbage collections in the interval

	GCPauses  Distribution // pauses of the program by garbage collections
	Latencies Distribution // waits of ready goroutines for a processor
	MutexWait float64      // goroutines that waited for a mutex, on average

	CPU        CPU
	Processors float64 // GOMAXPROCS

	Recorded  float64 // entries a second on timelines
	Accepted  float64 // spans a second given to the delivery's queue
	Delivered float64 // spans a second that the backend accepted
	Pending   float64 // spans in the queue
	Lost      uint64  // in the interval, of all causes
	LostInAll uint64  // since the program's start, of all causes
	Losses    []Loss  // the largest first, at most 8
}

// CPU is CPU time in cores. The classes are averages between two garbage collections, the second of
// which is in the interval.
type CPU struct {
	Process  float64 // all threads, in the interval; NaN on a system without such a clock
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

// A Loss is the number of losses in the interval for one cause, with the names of its
// [exporter.Count].
type Loss struct {
	Group, Kind, Name, What string
	N                       uint64
}

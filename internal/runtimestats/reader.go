package runtimestats

import (
	"math"
	"runtime/metrics"
	"time"
)

// The indexes of the runtime's metrics in reader.now.
const (
	heapObjects = iota
	heapGoal
	memoryTotal
	memoryReleased
	allocated
	goroutines
	gcCycles
	processors
	mutexWait
	cpuTotal
	cpuUser
	cpuGC
	cpuScavenge
	cpuIdle
	gcPauses
	latencies
	numMetrics
)

var metricNames = [numMetrics]string{
	heapObjects:    "/memory/classes/heap/objects:bytes",
	heapGoal:       "/gc/heap/goal:bytes",
	memoryTotal:    "/memory/classes/total:bytes",
	memoryReleased: "/memory/classes/heap/released:bytes",
	allocated:      "/gc/heap/allocs:bytes",
	goroutines:     "/sched/goroutines:goroutines",
	gcCycles:       "/gc/cycles/total:gc-cycles",
	processors:     "/sched/gomaxprocs:threads",
	mutexWait:      "/sync/mutex/wait/total:seconds",
	cpuTotal:       "/cpu/classes/total:cpu-seconds",
	cpuUser:        "/cpu/classes/user:cpu-seconds",
	cpuGC:          "/cpu/classes/gc/total:cpu-seconds",
	cpuScavenge:    "/cpu/classes/scavenge/total:cpu-seconds",
	cpuIdle:        "/cpu/classes/idle:cpu-seconds",
	gcPauses:       "/sched/pauses/total/gc:seconds",
	latencies:      "/sched/latencies:seconds",
}

// A reader reads the runtime's figures, and stores the figures of the previous sample.
type reader struct {
	readMetrics func([]metrics.Sample)
	cpuTime     func() time.Duration

	now    []metrics.Sample
	before [numMetrics]float64 // NaN before the first sample
	at     time.Time
	cpu    time.Duration

	pauses, latencies histogram
}

func newReader(c Config) reader {
	r := reader{readMetrics: c.Read, cpuTime: c.CPUTime, now: make([]metrics.Sample, numMetrics)}
	for i, name := range metricNames {
		r.now[i].Name = name
		r.before[i] = math.NaN()
	}
	return r
}

// read returns a sample without perfline's counts.
func (r *reader) read(at time.Time) Sample {
	r.readMetrics(r.now)
	cpu := r.cpuTime()
	s := Sample{
		At:         at,
		Heap:       r.value(heapObjects),
		HeapGoal:   r.value(heapGoal),
		Memory:     r.value(memoryTotal) - r.value(memoryReleased),
		Goroutines: r.value(goroutines),
		Processors: r.value(processors),
		GCCycles:   r.growth(gcCycles),
		GCPauses:   r.pauses.difference(r.now[gcPauses].Value),
		Latencies:  r.latencies.difference(r.now[latencies].Value),
		CPU:        r.classes(),
	}
	if !r.at.IsZero() {
		s.Interval = at.Sub(r.at)
	}
	seconds := s.Interval.Seconds()
	s.Allocated = rate(r.growth(allocated), seconds)
	s.MutexWait = rate(r.growth(mutexWait), seconds)
	s.CPU.Process = math.NaN()
	if cpu > 0 && r.cpu > 0 {
		s.CPU.Process = rate((cpu - r.cpu).Seconds(), seconds)
	}
	for i := range r.before {
		r.before[i] = r.value(i)
	}
	r.at, r.cpu = at, cpu
	return s
}

// value returns a numeric metric, or NaN if this release of Go lacks the metric.
func (r *reader) value(metric int) float64 {
	switch v := r.now[metric].Value; v.Kind() {
	case metrics.KindUint64:
		return float64(v.Uint64())
	case metrics.KindFloat64:
		return v.Float64()
	case metrics.KindBad, metrics.KindFloat64Histogram:
	}
	return math.NaN()
}

// growth returns the difference of a metric from the previous sample.
func (r *reader) growth(metric int) float64 { return r.value(metric) - r.before[metric] }

// classes returns CPU time by class. The runtime's total is the elapsed time until the last garbage
// collection, multiplied by GOMAXPROCS.
func (r *reader) classes() CPU {
	seconds := r.growth(cpuTotal) / r.value(processors)
	return CPU{
		User:     rate(r.growth(cpuUser), seconds),
		GC:       rate(r.growth(cpuGC), seconds),
		Scavenge: rate(r.growth(cpuScavenge), seconds),
		Idle:     rate(r.growth(cpuIdle), seconds),
	}
}

// rate returns n a second, or NaN for no time.
func rate(n, seconds float64) float64 {
	if seconds <= 0 {
		return math.NaN()
	}
	return max(0, n) / seconds // the runtime estimates CPU times, and an estimate can shrink
}

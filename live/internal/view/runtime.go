package view

import (
	"math"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/observer"
)

// A RuntimeHistory has samples of the Go runtime's figures. A figure that is not known is missing.
type RuntimeHistory struct {
	Instance   string       `json:"instance"`   // of the page that took them
	Every      float64      `json:"every"`      // from one sample to the next
	MaxSamples int          `json:"maxSamples"` // samples in memory, at most
	Samples    []runtimeRow `json:"samples"`    // the oldest first

	Last time.Time `json:"-"` // of the last sample
}

// runtimeRow is a sample.
type runtimeRow struct {
	// since the epoch of Unix
	At float64 `json:"at"`
	// since the sample before; 0 of the first, which has no rates and no distributions
	Interval float64 `json:"interval"`
	// objects, live or not yet swept
	Heap figure `json:"heap,omitzero" unit:"bytes"`
	// size of the heap at which the next garbage collection ends
	HeapGoal figure `json:"heapGoal,omitzero" unit:"bytes"`
	// what the runtime has from the system, without what it gave back
	Memory figure `json:"memory,omitzero" unit:"bytes"`
	// allocation of objects
	Allocated  figure `json:"allocated,omitzero" unit:"bytes a second"`
	Goroutines figure `json:"goroutines,omitzero"` // goroutines that have not ended
	GCCycles   figure `json:"gcCycles,omitzero"`   // garbage collections in the interval
	// times when a garbage collection stopped the program
	GCPauses *distribution `json:"gcPauses,omitempty"`
	// times that goroutines waited, ready to run, for a processor
	Latencies *distribution `json:"latencies,omitempty"`
	// goroutines that waited for a mutex, on average
	MutexWait  figure `json:"mutexWait,omitzero"`
	Processors figure `json:"processors,omitzero"` // GOMAXPROCS

	// of all threads of the process, in the interval
	CPU figure `json:"cpu,omitzero" unit:"cores"`
	// the program's code, between two garbage collections; the same holds for the next three
	CPUUser figure `json:"cpuUser,omitzero" unit:"cores"`
	CPUGC   figure `json:"cpuGC,omitzero" unit:"cores"` // garbage collection
	// giving memory back to the system
	CPUScavenge figure `json:"cpuScavenge,omitzero" unit:"cores"`
	CPUIdle     figure `json:"cpuIdle,omitzero" unit:"cores"` // processors without work

	Recorded figure `json:"recorded,omitzero" unit:"1 a second"` // entries that timelines took
	// spans given to the delivery's queue; missing without a backend
	Accepted figure `json:"accepted,omitzero" unit:"1 a second"`
	// spans that the backend accepted
	Delivered figure    `json:"delivered,omitzero" unit:"1 a second"`
	Pending   figure    `json:"pending,omitzero"` // spans in the queue
	Lost      uint64    `json:"lost"`             // in the interval, of all causes
	Losses    []lossRow `json:"losses,omitempty"` // the largest first, at most 8
}

// A distribution describes the durations in an interval. They are upper bounds of buckets, at most
// a quarter too long.
type distribution struct {
	Count uint64  `json:"count"` // durations in the interval
	P50   float64 `json:"p50"`   // half of them are at most this long
	P99   float64 `json:"p99"`   // 99 of 100 are at most this long
	Max   float64 `json:"max"`   // the longest
}

// lossRow is a cause of losses.
type lossRow struct {
	Group string `json:"group"`          // of the count, as in the counts
	Kind  string `json:"kind,omitempty"` // kind
	Name  string `json:"name,omitempty"` // name
	What  string `json:"what"`           // the meaning
	N     uint64 `json:"n"`              // in the interval
}

// A figure is a number, or NaN if it is not known.
type figure float64

// IsZero leaves an unknown figure out of the JSON.
func (f figure) IsZero() bool { return math.IsNaN(float64(f)) }

// MarshalJSON writes six digits, which is more than a chart shows.
func (f figure) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 6, 64), nil
}

// NewRuntimeHistory returns samples, the oldest first, that an instance of the page took.
func NewRuntimeHistory(instance string, samples []runtimestats.Sample) RuntimeHistory {
	history := RuntimeHistory{
		Instance: instance, Every: observer.Milliseconds(runtimestats.Every),
		MaxSamples: runtimestats.MaxSamples, Samples: make([]runtimeRow, 0, len(samples)),
	}
	for _, s := range samples {
		history.Samples = append(history.Samples, newRuntimeRow(s))
		history.Last = s.At
	}
	return history
}

func newRuntimeRow(s runtimestats.Sample) runtimeRow {
	row := runtimeRow{
		At: SinceEpoch(s.At), Interval: observer.Milliseconds(s.Interval),
		Heap: figure(s.Heap), HeapGoal: figure(s.HeapGoal), Memory: figure(s.Memory),
		Allocated:  figure(s.Allocated),
		Goroutines: figure(s.Goroutines), GCCycles: figure(s.GCCycles),
		GCPauses: newDistribution(s.GCPauses), Latencies: newDistribution(s.Latencies),
		MutexWait: figure(s.MutexWait), Processors: figure(s.Processors),
		CPU: figure(s.CPU.Process), CPUUser: figure(s.CPU.User), CPUGC: figure(s.CPU.GC),
		CPUScavenge: figure(s.CPU.Scavenge), CPUIdle: figure(s.CPU.Idle),
		Recorded: figure(s.Recorded), Accepted: figure(s.Accepted), Delivered: figure(s.Delivered),
		Pending: figure(s.Pending), Lost: s.Lost,
	}
	for _, l := range s.Losses {
		row.Losses = append(row.Losses, lossRow{l.Group, Shown(l.Kind), l.Name, l.What, l.N})
	}
	return row
}

func newDistribution(d runtimestats.Distribution) *distribution {
	if d.Count == 0 {
		return nil
	}
	return &distribution{d.Count, observer.Milliseconds(d.P50), observer.Milliseconds(d.P99),
		observer.Milliseconds(d.Max)}
}

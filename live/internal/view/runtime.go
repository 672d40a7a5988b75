package view

import (
	"math"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/runtimestats"
)

// A RuntimeHistory lists samples of the Go runtime's figures. An unknown figure is missing.
type RuntimeHistory struct {
	Instance   string       `json:"instance"`   // instance of the page that took the samples
	Every      float64      `json:"every"`      // time between two samples
	MaxSamples int          `json:"maxSamples"` // limit of samples in memory
	Samples    []runtimeRow `json:"samples"`    // the oldest first

	Last time.Time `json:"-"` // time of the last sample
}

// A runtimeRow is a sample.
type runtimeRow struct {
	At       float64 `json:"at"`       // since the epoch of Unix
	Interval float64 `json:"interval"` // since the previous sample; 0 for the first, without rates

	Heap     figure `json:"heap,omitzero" unit:"bytes"`     // objects, live or not yet swept
	HeapGoal figure `json:"heapGoal,omitzero" unit:"bytes"` // goal of the next garbage collection
	Memory   figure `json:"memory,omitzero" unit:"bytes"`   // memory held from the system

	Allocated figure `json:"allocated,omitzero" unit:"bytes a second"` // allocation of objects

	Goroutines figure `json:"goroutines,omitzero"` // goroutines that have not ended
	GCCycles   figure `json:"gcCycles,omitzero"`   // garbage collections in the interval

	GCPauses   *distribution `json:"gcPauses,omitempty"`  // pauses for garbage collections
	Latencies  *distribution `json:"latencies,omitempty"` // waits of ready goroutines to run
	MutexWait  figure        `json:"mutexWait,omitzero"`  // average goroutines waiting for a mutex
	Processors figure        `json:"processors,omitzero"` // GOMAXPROCS

	CPU figure `json:"cpu,omitzero" unit:"cores"` // all threads of the process, in the interval
	// the program's code, averaged between two garbage collections, like the next three figures
	CPUUser     figure `json:"cpuUser,omitzero" unit:"cores"`
	CPUGC       figure `json:"cpuGC,omitzero" unit:"cores"`       // garbage collection
	CPUScavenge figure `json:"cpuScavenge,omitzero" unit:"cores"` // return of memory to the system
	CPUIdle     figure `json:"cpuIdle,omitzero" unit:"cores"`     // processors without work

	Recorded  figure `json:"recorded,omitzero" unit:"1 a second"`  // entries in timelines
	Accepted  figure `json:"accepted,omitzero" unit:"1 a second"`  // spans queued for delivery
	Delivered figure `json:"delivered,omitzero" unit:"1 a second"` // spans the backend accepted

	Pending figure    `json:"pending,omitzero"` // spans in the queue
	Lost    uint64    `json:"lost"`             // in the interval, of all causes
	Losses  []lossRow `json:"losses,omitempty"` // the largest first, at most 8
}

// A distribution describes the durations in an interval. Each duration is the upper bound of a
// bucket, at most a quarter too long.
type distribution struct {
	Count uint64  `json:"count"` // durations in the interval
	P50   float64 `json:"p50"`   // median
	P99   float64 `json:"p99"`   // 99 of 100 are at most this long
	Max   float64 `json:"max"`   // the longest
}

// A lossRow is a cause of losses.
type lossRow struct {
	Group string `json:"group"`          // group of the count, as in the counts
	Kind  string `json:"kind,omitempty"` // type of entry
	Name  string `json:"name,omitempty"` // outcome
	What  string `json:"what"`           // meaning
	N     uint64 `json:"n"`              // losses in the interval
}

// A figure is a number, or NaN if the number is unknown.
type figure float64

// IsZero reports whether the figure is unknown. encoding/json omits such figures.
func (f figure) IsZero() bool { return math.IsNaN(float64(f)) }

// MarshalJSON encodes the figure with six digits. A chart shows fewer digits.
func (f figure) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 6, 64), nil
}

// NewRuntimeHistory returns the samples of one instance of the page. samples must be in the order
// of time.
func NewRuntimeHistory(instance string, samples []runtimestats.Sample) RuntimeHistory {
	history := RuntimeHistory{
		Instance: instance, Every: ms(runtimestats.Every),
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
		At: SinceEpoch(s.At), Interval: ms(s.Interval),
		Heap: figure(s.Heap), HeapGoal: figure(s.HeapGoal), Memory: figure(s.Memory),
		Allocated: figure(s.Allocated), Goroutines: figure(s.Goroutines),
		GCCycles: figure(s.GCCycles), GCPauses: newDistribution(s.GCPauses),
		Latencies: newDistribution(s.Latencies),
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
	return &distribution{d.Count, ms(d.P50), ms(d.P99), ms(d.Max)}
}

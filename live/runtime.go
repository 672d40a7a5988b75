package live

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/perfline/perfline/internal/runtimestats"
	"github.com/perfline/perfline/observer"
)

// A runtimeHistory has samples of the Go runtime's figures. A figure that is not known is missing.
type runtimeHistory struct {
	Instance   string       `json:"instance"`   // of the page that took them
	Every      float64      `json:"every"`      // from one sample to the next
	MaxSamples int          `json:"maxSamples"` // samples in memory, at most
	Samples    []runtimeRow `json:"samples"`    // the oldest first

	last time.Time // of the last sample
}

// runtimeRow is a sample.
type runtimeRow struct {
	At float64 `json:"at"` // since the epoch of Unix
	// since the sample before; 0 of the first, which has no rates and no distributions
	Interval float64 `json:"interval"`
	Heap     figure  `json:"heap,omitzero"` // objects, live or not yet swept
	// size of the heap at which the next garbage collection ends
	HeapGoal figure `json:"heapGoal,omitzero"`
	// what the runtime has from the system, without what it gave back
	Memory     figure `json:"memory,omitzero"`
	Allocated  figure `json:"allocated,omitzero"`  // allocation of objects
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
	CPU figure `json:"cpu,omitzero"`
	// the program's code, between two garbage collections; the same holds for the next three
	CPUUser     figure `json:"cpuUser,omitzero"`
	CPUGC       figure `json:"cpuGC,omitzero"`       // garbage collection
	CPUScavenge figure `json:"cpuScavenge,omitzero"` // giving memory back to the system
	CPUIdle     figure `json:"cpuIdle,omitzero"`     // processors without work

	Recorded figure `json:"recorded,omitzero"` // entries that timelines took
	// spans given to the delivery's queue; missing without a backend
	Accepted  figure    `json:"accepted,omitzero"`
	Delivered figure    `json:"delivered,omitzero"` // spans that the backend accepted
	Pending   figure    `json:"pending,omitzero"`   // spans in the queue
	Lost      uint64    `json:"lost"`               // in the interval, of all causes
	Losses    []lossRow `json:"losses,omitempty"`   // the largest first, at most 8
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
	Group string `json:"group"` // of the count, as in the counts
	Kind  string `json:"kind,omitempty"`
	Name  string `json:"name,omitempty"`
	What  string `json:"what"` // the meaning
	N     uint64 `json:"n"`    // in the interval
}

// A figure is a number, or NaN if it is not known.
type figure float64

// IsZero leaves an unknown figure out of the JSON.
func (f figure) IsZero() bool { return math.IsNaN(float64(f)) }

// MarshalJSON writes six digits, which is more than a chart shows.
func (f figure) MarshalJSON() ([]byte, error) {
	return strconv.AppendFloat(nil, float64(f), 'g', 6, 64), nil
}

// runtimeAfter returns the samples after a time. There are none in a program without a history.
func (h *handler) runtimeAfter(after time.Time) runtimeHistory {
	history := runtimeHistory{Instance: h.page.Instance,
		Every: observer.Milliseconds(runtimestats.Every), MaxSamples: runtimestats.MaxSamples,
		Samples: []runtimeRow{}}
	if h.history == nil {
		return history
	}
	for _, s := range h.history.After(after) {
		history.Samples = append(history.Samples, newRuntimeRow(s))
		history.last = s.At
	}
	return history
}

func newRuntimeRow(s runtimestats.Sample) runtimeRow {
	row := runtimeRow{
		At: sinceEpoch(s.At), Interval: observer.Milliseconds(s.Interval),
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
		row.Losses = append(row.Losses, lossRow{l.Group, shown(l.Kind), l.Name, l.What, l.N})
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

// runtime answers with the samples after a time, or with all of them.
func (h *handler) runtime(w http.ResponseWriter, r *http.Request) {
	after, ok := readAfter(w, r)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", jsonType)
	if !headOnly(w, r) {
		answer(w, h.runtimeAfter(after))
	}
}

// readAfter reads the parameter after: the time of the last sample that the client has. It answers
// itself if that is no number.
func readAfter(w http.ResponseWriter, r *http.Request) (after time.Time, ok bool) {
	text := r.URL.Query().Get("after")
	if text == "" {
		return time.Time{}, true
	}
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(ms) < 1e15) {
		refuse(w, http.StatusBadRequest,
			fmt.Sprintf("after=%s: must be the time of a sample, in milliseconds since 1970",
				shown(text)))
		return time.Time{}, false
	}
	// The time of a sample has nanoseconds, which its JSON does not have.
	return time.UnixMicro(int64(math.Round(ms * 1000))).Add(time.Microsecond - 1), true
}

package waits

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

var kindNames = [Kinds]string{
	Gap:               "gap",
	OnCPU:             "running",
	Runnable:          "runnable",
	Mutex:             "mutex",
	ChannelSend:       "channel send",
	ChannelReceive:    "channel receive",
	Select:            "select",
	Network:           "network",
	File:              "file or pipe",
	Timer:             "timer",
	Condition:         "condition",
	WaitGroup:         "WaitGroup",
	Pool:              "pool",
	Wait:              "wait",
	Syscall:           "system call",
	GCAssist:          "GC assist",
	StopTheWorld:      "stop-the-world",
	GarbageCollection: "garbage collection",
	OtherPrograms:     "other programs",
	CPULimit:          "CPU limit",
	NotRun:            "not run",
}

// String returns the name of the kind, such as "system call".
func (k Kind) String() string {
	if k < Kinds {
		return kindNames[k]
	}
	return "unknown"
}

// Times returns how long the goroutines of the request spent in each kind of state for one span, without the spans inside
// it. Goroutines that work at the same time for a span count each, so that the times may add up to more than the span's
// duration.
func (r *Request) Times(span trace.SpanID) (times [Kinds]time.Duration) {
	for i := range r.Goroutines {
		for j := range r.Goroutines[i].Intervals {
			if interval := &r.Goroutines[i].Intervals[j]; interval.SpanID == span && interval.Kind < Kinds {
				times[interval.Kind] += interval.Duration()
			}
		}
	}
	return times
}

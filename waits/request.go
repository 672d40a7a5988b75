// Package waits (may change) describes what the goroutines of a request did at each moment: they
// ran, or they waited. This package contains data only. Package flight fills it from an execution
// trace. Importing this package links no tracer and no parser.
package waits

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

// A Kind is what a goroutine does in an interval.
type Kind uint8

// The kinds of intervals and of causes.
const (
	Gap            Kind = iota // outside the execution trace
	OnCPU                      // on a processor
	Runnable                   // ready, and waiting for a processor
	Mutex                      // sync.Mutex or sync.RWMutex
	ChannelSend                // a channel whose receiver is late
	ChannelReceive             // a channel whose sender is late
	Select                     // a select statement
	Network                    // a connection, a listener or another socket
	File                       // a pipe, FIFO, terminal or device that the network poller watches
	Timer                      // time.Sleep, or a channel of a timer
	Condition                  // sync.Cond
	WaitGroup                  // sync.WaitGroup
	Pool                       // a connection of a pool of database/sql
	Wait                       // anything else
	Syscall                    // a system call
	GCAssist                   // help to the garbage collector in an allocation, or a wait for it
	StopTheWorld               // the runtime has stopped all goroutines

	// The following kinds are kinds of causes only.

	GarbageCollection // assists, stops of the world and processors that the collector took
	OtherPrograms     // the operating system gave the processors to other programs
	CPULimit          // the limit of CPU time of a control group stopped the process
	NotRun            // the operating system did not run the process, for an unknown reason
)

var kindNames = [...]string{
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

// String returns the name of the kind, such as "system call", or "unknown" for other numbers.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// A Frame is a function call of a stack.
type Frame struct {
	Function string // with its import path
	File     string
	Line     int
}

// A Party is a goroutine that took part in the wait of another goroutine.
type Party struct {
	Goroutine uint64
	// Function is the innermost function outside the standard library, or the collector's, or "".
	Function string
	// Stack is the party's stack at the end of the wait, the innermost function first, or empty.
	Stack []Frame

	// The request of the goroutine. All three fields are zero for a goroutine outside requests.
	Request string // the name of the root span
	TraceID trace.TraceID
	RootID  trace.SpanID
}

// An Interval is a time in which a goroutine does one thing.
type Interval struct {
	Kind       Kind
	Start, End time.Duration // since the request's start
	SpanID     trace.SpanID  // the innermost span of the request on the goroutine
	// Stack is a stack of the wait or the run, the innermost function first, or empty.
	Stack []Frame
	// By is the goroutine that ended the wait, or held the processor; nil for none or unknown.
	By *Party
}

// Duration returns the length of the interval.
func (i *Interval) Duration() time.Duration { return i.End - i.Start }

// A Goroutine describes one goroutine while it worked for a request.
type Goroutine struct {
	ID        uint64
	Function  string     // the first function of the goroutine
	Intervals []Interval // by time; disjoint
}

// A Cause is a part of the time of a request, with the reason.
type Cause struct {
	Kind     Kind // never Gap
	Duration time.Duration
	// Function is the function that ran or waited: the program's innermost function, or else the
	// innermost function of a library, or "". If Function is the program's and called a library,
	// Via is the outermost function of the library.
	Function, Via string
	// SpanID is the span of the request with more than half of the time, or else the root.
	SpanID trace.SpanID
	Span   string // the name of that span; empty if unknown
	By     *Party // the goroutine that made the request wait, or nil
	// In is the goroutine that ran or waited, if that goroutine worked for another request of the
	// process, such as a request that this one has sent. Otherwise, In is nil.
	In *Party
	// Limit is the number of processors that a CPULimit allows; 0 if unknown.
	Limit float64
}

// A Request is the result for one request.
type Request struct {
	TraceID  trace.TraceID
	RootID   trace.SpanID
	Name     string // of the root span
	Start    time.Time
	Duration time.Duration

	// Unended is set if the root outlasted the execution trace. Duration ends with the trace.
	Unended bool

	// Goroutines starts with the serving goroutine, on which the root span started. Its intervals
	// cover the whole request, with gaps. Where a goroutine does many things within a short time,
	// one interval stands for each kind: times are right, and the order is not. Omitted is the
	// number of goroutines that are left out, because there were too many intervals.
	Goroutines []Goroutine
	Omitted    int

	// Causes add up to the part of the request's duration that the execution trace covers, the
	// longest first. If the serving goroutine waits for the work of another goroutine, the cause is
	// what the other goroutine did meanwhile. While a request in the same process serves a call,
	// the cause is what the goroutines of that request did.
	Causes []Cause
}

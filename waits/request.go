// Package waits (may change) describes what the goroutines of a request did at each moment: they
// ran, or they waited. This package contains data only. Package flight fills it from an execution
// trace. Importing this package links no tracer and no parser.
package waits

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

// A Kind describes the activity of a goroutine in an interval.
type Kind uint8

// The kinds of intervals and of causes.
const (
	Gap            Kind = iota // outside the execution trace
	OnCPU                      // on a processor
	Runnable                   // ready, and waiting for a processor
	Mutex                      // sync.Mutex or sync.RWMutex
	ChannelSend                // a channel without a ready receiver
	ChannelReceive             // a channel without a ready sender
	Select                     // a select statement
	Network                    // a connection, a listener or another socket
	File                       // a pipe, FIFO, terminal or device that the network poller watches
	Timer                      // time.Sleep, a channel of a timer, or the deadline of a context
	Condition                  // sync.Cond
	WaitGroup                  // sync.WaitGroup
	Pool                       // a connection of a pool of database/sql
	Wait                       // anything else
	Syscall                    // a system call
	CCode                      // C code that cgo called: the code ran or waited
	GCAssist                   // an allocation that works for the garbage collector, or waits
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
	CCode:             "C code",
	GCAssist:          "GC assist",
	StopTheWorld:      "stop-the-world",
	GarbageCollection: "garbage collection",
	OtherPrograms:     "other programs",
	CPULimit:          "CPU limit",
	NotRun:            "not run",
}

// String returns the name of the kind, such as "system call". String returns "unknown" for an
// undefined kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "unknown"
}

// A Frame is one function call of a stack.
type Frame struct {
	Function string // name with the import path
	File     string
	Line     int
}

// A Party describes a goroutine that made another goroutine wait.
type Party struct {
	Goroutine uint64
	// Function is the program's innermost function, as in a Cause, or else the innermost function
	// outside the standard library. For the garbage collector, Function is the collector's
	// function. For the deadline of a context, Function is a function of package context. Function
	// is empty if the function is unknown.
	Function string
	// Stack is the party's stack at the end of the wait, the innermost function first. Stack is
	// empty if the stack is unknown.
	Stack []Frame

	// The next three fields identify the request for which the goroutine worked. All three fields
	// are zero if the goroutine worked for no request.
	Request string // name of the root span
	TraceID trace.TraceID
	RootID  trace.SpanID
}

// An Interval is a period with one activity of a goroutine.
type Interval struct {
	Kind       Kind
	Start, End time.Duration // since the request's start
	SpanID     trace.SpanID  // the innermost span of the request on the goroutine
	// Stack is a stack of the goroutine in the interval, the innermost function first. Stack is
	// empty if the stack is unknown.
	Stack []Frame
	// By is the goroutine that ended the wait. For Runnable, By is the goroutine that used the
	// processors. By is nil if the goroutine is unknown, or if no goroutine was responsible.
	By *Party
}

// Duration returns the length of the interval.
func (i *Interval) Duration() time.Duration { return i.End - i.Start }

// A Goroutine contains the intervals in which a goroutine worked for a request.
type Goroutine struct {
	ID        uint64
	Function  string     // the first function of the goroutine
	Intervals []Interval // in the order of time; disjoint
}

// A Cause is a reason for a part of a request's duration.
type Cause struct {
	Kind     Kind // never Gap
	Duration time.Duration
	// Function is the function that ran or waited: the program's innermost function, or else the
	// innermost function of a library, or "". If Function is the program's and called a library,
	// Via is the outermost function of the library. A function literal of a package variable, such
	// as stream.init.func2, gives way to its caller in the program. Without a caller, the file and
	// the line follow the name: "stream.init.func2 (stream.go:57)".
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

// A Request is the result of the analysis of one request.
type Request struct {
	TraceID  trace.TraceID
	RootID   trace.SpanID
	Name     string // of the root span
	Start    time.Time
	Duration time.Duration

	// Unended is true if the execution trace ends before the root span. Duration then ends with the
	// trace.
	Unended bool

	// Goroutines contains the goroutines that worked for the request. The first goroutine is the
	// serving goroutine, on which the root span started. The intervals of the serving goroutine
	// cover the whole request, with gaps.
	//
	// If a goroutine switches very often, one interval replaces several intervals of the same kind.
	// The durations stay right, but the order of such intervals is approximate.
	//
	// Omitted counts the goroutines that Goroutines does not contain. The recorder omits goroutines
	// of a request with too many intervals.
	Goroutines []Goroutine
	Omitted    int

	// Causes add up to the part of the request's duration that the execution trace covers, the
	// longest first. If the serving goroutine waits for the work of another goroutine, the cause is
	// what the other goroutine did meanwhile. While a request in the same process serves a call,
	// the cause is what the goroutines of that request did.
	Causes []Cause
}

// Package waits (may change) describes what the goroutines of a request did at each moment: they
// ran, or they waited for something. It has data only. Package flight makes it from an execution
// trace. Importing this package costs no tracer and no parser.
package waits

import (
	"time"

	"go.opentelemetry.io/otel/trace"
)

// A Kind says what a goroutine does in an interval.
type Kind uint8

// The kinds of intervals and of causes.
const (
	Gap            Kind = iota // the execution trace does not reach
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

	// The others are kinds of causes, and not of intervals.

	GarbageCollection // assists, stops of the world and processors that the collector took
	OtherPrograms     // the operating system gave the processors to other programs
	CPULimit          // the limit of CPU time of a control group stopped the process
	NotRun            // the operating system did not run the process, and why is not known
)

// A Frame is a function call of a stack.
type Frame struct {
	Function string // with its import path
	File     string
	Line     int
}

// A Party is a goroutine that had a part in the wait of another one.
type Party struct {
	Goroutine uint64
	// Function is the innermost function outside the standard library, or the garbage collector's.
	// It may be empty.
	Function string
	// Stack is of the moment when it ended the wait, the innermost function first. It may be empty.
	Stack []Frame

	// The request that the goroutine worked for. All three are zero if it worked for none.
	Request string // the name of the root span
	TraceID trace.TraceID
	RootID  trace.SpanID
}

// An Interval is a time in which a goroutine does one thing.
type Interval struct {
	Kind       Kind
	Start, End time.Duration // since the request's start
	SpanID     trace.SpanID  // the innermost span of the request that the goroutine worked for
	// Stack is where the goroutine waits or was seen running, the innermost function first. It may
	// be empty.
	Stack []Frame
	// By ended the wait, or held the processor. It is nil if no goroutine did, or if it is unknown.
	By *Party
}

// Duration returns the length of the interval.
func (i *Interval) Duration() time.Duration { return i.End - i.Start }

// A Goroutine has the intervals of one goroutine while it worked for a request.
type Goroutine struct {
	ID        uint64
	Function  string     // that it began with
	Intervals []Interval // by time; they do not overlap
}

// A Cause is a part of the time that a request took.
type Cause struct {
	Kind     Kind
	Duration time.Duration
	// Function is where the request ran or waited: the innermost function outside the standard
	// library.
	Function string
	SpanID   trace.SpanID // of most of the time
	Span     string       // the name of that span; empty if the trace does not have it
	By       *Party       // that made the request wait; nil if no goroutine did
	// Limit is the number of processors that the process may use, for a CPULimit. It is 0 if the
	// number is not known.
	Limit float64
}

// A Request is the result for one request.
type Request struct {
	TraceID  trace.TraceID
	RootID   trace.SpanID
	Name     string // of the root span
	Start    time.Time
	Duration time.Duration

	// Unended says that the root had not ended when the execution trace did. Duration is the time
	// until then.
	Unended bool

	// Goroutines have the serving goroutine first, on which the request's root span started. The
	// intervals of this one cover the whole request, with gaps. Where a goroutine does many things
	// within a short time, there is one interval for each kind of them: times are right, and the
	// order is not. Omitted is the number of goroutines that are left out, because there were too
	// many intervals.
	Goroutines []Goroutine
	Omitted    int

	// Causes add up to the request's duration, the longest first. Where the serving goroutine waits
	// for the work of another goroutine, the cause is what that one did meanwhile.
	Causes []Cause
}

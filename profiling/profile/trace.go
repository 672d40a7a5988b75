package profile

import (
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// None stands where a trace has no id to give: a sample without a stack or a
// context, the bottom of a stack, a frame without a resource.
const None = -1

// A Trace is what a profiler recorded: the ProfilerTrace dictionary of JS
// Self-Profiling ("The ProfilerTrace Dictionary"), and what that has no room for: the engine,
// the spans, and the lines that ran.
//
// Resources, Frames, Stacks and Contexts hold no two equal elements, and a stack's
// parent stands before it. A profiler's trace keeps these rules, and a trace made by hand
// must keep them, too. For an id that is out of range, writers return an error and the other
// methods panic.
//
// A sample takes 48 bytes. The memory of stacks, frames and resources depends on the program's
// code, not on the number of samples. Methods only read, so several goroutines may use a trace
// as long as none changes it.
type Trace struct {
	Resources []string // files, exactly the ones of Frames
	Frames    []Frame
	Stacks    []Stack  // a trie: each is its parent and one frame more
	Samples   []Sample // by time

	Contexts []SampleContext
	// Origin is the wall-clock time of timestamp 0. It is zero when it is not known.
	Origin time.Time
	// Interval is the interval in use, see profiling.Profiler.SampleInterval.
	Interval time.Duration
	// Engine took the samples. It is EngineWindow if any sample has no time of its own.
	Engine Engine
	// Modules are the modules whose functions the trace has, as in profiling.Options. Empty means
	// all.
	Modules []string
	// Started and Stopped are when the profiler ran, since Origin.
	Started, Stopped time.Duration
	// CPUTime is the CPU time that the process used while the samples were taken. On Linux it may
	// be up to twice the samples' Weight in all: the kernel's timers miss threads that run in short
	// bursts. It is 0 where it is not known, and for EngineWall.
	CPUTime time.Duration
	Stats   Stats

	places []place
}

// An Engine is the way in which a profiler takes samples. See package profiling for what each one
// sees and costs.
type Engine string

// The engines.
const (
	EngineCPU    Engine = "cpu"    // the code that runs, by CPU time, with the time of each sample
	EngineWindow Engine = "window" // the same, with the time of one-second windows only
	EngineWall   Engine = "wall"   // all goroutines, running or waiting, by wall-clock time
)

// NoStack stands for the missing stack of a sample, as a function's name: in pprof, in viewers'
// files, and on the page.
const NoStack = "[no stack]"

// A Frame is a function ("The ProfilerFrame Dictionary").
type Frame struct {
	Name       string // with the package's path
	ResourceID int    // index in Trace.Resources, or None
	Line       int    // where the function begins, from 1; 0 when it is not known
	Column     int    // from 1; 0 when it is not known, as it always is in Go
}

// A Stack is a frame and the stack that it was called from ("The ProfilerStack
// Dictionary").
type Stack struct {
	FrameID  int // index in Trace.Frames
	ParentID int // index in Trace.Stacks, below this one's own; None at the bottom
}

// A Sample is what ran at a moment ("The ProfilerSample Dictionary").
type Sample struct {
	Timestamp time.Duration // since the trace's Origin
	StackID   int           // index in Trace.Stacks of the innermost frame; None without a stack
	ContextID int           // index in Trace.Contexts; None when there was no span and no label
	Count     int           // how many goroutines or ticks it stands for, at least 1
	Weight    time.Duration // the CPU or wall time it stands for, of all Count together
	// of the innermost line in Trace.places, from 1; 0 when lines are not known
	place     int32
	Marker    Marker
	Truncated bool // the stack was deeper than the engine could see: its outer end is missing
}

// A SampleContext is what a sample ran for: the span that was active on its goroutine,
// and the labels that the program had set there.
type SampleContext struct {
	TraceID trace.TraceID // zero without a span, as are SpanID and SpanName
	SpanID  trace.SpanID
	// SpanName is the span's name at its end, such as "GET /products/{id}". It is the name that the
	// span was started with if the span went on when the trace was made, or if the engine knows
	// the text of labels only.
	SpanName string
	Labels   []Label // by key, each key once
}

// A Label is a profiler label, see runtime/pprof.Labels.
type Label struct{ Key, Value string }

// Stats are a profiler's counts. A trace that was selected from another one has the counts of the
// whole.
type Stats struct {
	Samples   uint64 // recorded
	Lost      uint64 // taken by the engine, which could not keep them
	Truncated uint64 // of Samples, those whose stack was cut
	Filtered  uint64 // of Samples, those that have no stack because each frame was left out
	// Gaps is how often nothing was sampled for a time, and GapTime how long in all. Gaps are the
	// times in which other code had the CPU profiler, and some milliseconds whenever the engine or
	// its interval changes. Around a gap up to a tick of the kernel's clock of each thread's time
	// is lost as well, uncounted.
	Gaps    int
	GapTime time.Duration
	// BusyGaps and BusyTime are the part of Gaps and GapTime in which other code in this process
	// had the CPU profiler.
	BusyGaps int
	BusyTime time.Duration
	// SampleCost is how long a sample stopped the code that it was taken of, as EngineCPU
	// measures on itself. It is 0 where it is not known.
	SampleCost time.Duration
}

// A Marker says what kind of work was sampled (the markers extension of JS
// Self-Profiling), as far as the stack tells. The engines of the CPU do not see goroutines
// that wait, so nothing is Idle there. GC is the collector's own goroutines and
// the allocations that have to help it. The wall engine does not see the runtime's
// goroutines: there GC is the help only. Time in the kernel is Syscall when the call was
// made through package syscall or the runtime's pollers. C code is Other, unless Go
// called it: then it is Ordinary, with the Go function that called.
type Marker uint8

// The markers.
const (
	Ordinary Marker = iota // ordinary code
	GC                     // garbage collection
	Syscall                // in a system call
	Idle                   // not running: waiting
	Other                  // the scheduler, code that is not Go's, and what cannot be told
)

// String is empty for Ordinary, which has no marker.
func (m Marker) String() string {
	switch m {
	case Ordinary:
		return ""
	case GC:
		return "gc"
	case Syscall:
		return "syscall"
	case Idle:
		return "idle"
	default:
		return "other"
	}
}

// A place is a line of a stack: stacks tell functions apart, as the specification
// has it, and places also the lines that ran or called in them.
type place struct {
	parent int32 // in Trace.places, from 1, below its own; 0 at the bottom
	stack  int32 // index in Trace.Stacks
	line   int32
}

// A Call is a function on a sample's stack, with the line that it was at.
type Call struct {
	Name      string
	File      string // empty when it is not known
	StartLine int    // where the function begins, 0 when it is not known
	Line      int    // that ran, or that called the next inner function; 0 when it is not known
}

// Calls goes through the stack of one of the trace's samples, innermost first,
// which is the order in which pprof has it. The lines that ran are known in a profiler's
// trace, and in what was selected from it.
func (t *Trace) Calls(s Sample) iter.Seq[Call] {
	return func(yield func(Call) bool) {
		for at, ok := t.Position(s); ok; at, ok = t.Caller(at) {
			if !yield(t.Call(at)) {
				return
			}
		}
	}
}

// A Position is a function on a stack of a trace, with the line that it was at and with its
// callers. Equal positions of one trace are the same calls, so what a program works out for
// one position holds for all samples there.
type Position struct {
	stack int
	place int32 // the one that belongs to stack, when lines are known
}

// Position returns where one of the trace's samples was taken. ok is false for a sample
// without a stack.
func (t *Trace) Position(s Sample) (at Position, ok bool) {
	if int(s.place) > len(t.places) || s.place > 0 && int(t.places[s.place-1].stack) != s.StackID {
		s.place = 0 // the caller gave the sample another stack, or it is another trace's
	}
	return Position{s.StackID, s.place}, s.StackID >= 0
}

// Caller returns the position that a position was called from. ok is false at the bottom of
// the stack.
func (t *Trace) Caller(at Position) (caller Position, ok bool) {
	if at.place > 0 {
		caller.place = t.places[at.place-1].parent
	}
	caller.stack = t.Stacks[at.stack].ParentID
	return caller, caller.stack >= 0
}

// Call returns the function of a position.
func (t *Trace) Call(at Position) Call {
	f := t.Frames[t.Stacks[at.stack].FrameID]
	c := Call{Name: f.Name, StartLine: f.Line}
	if f.ResourceID >= 0 {
		c.File = t.Resources[f.ResourceID]
	}
	if at.place > 0 {
		c.Line = int(t.places[at.place-1].line)
	}
	return c
}

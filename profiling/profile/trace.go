package profile

import (
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// None is the id in place of a missing stack, context, parent or resource.
const None = -1

// A Trace is the ProfilerTrace dictionary of JS Self-Profiling ("The ProfilerTrace Dictionary")
// with additions: the engine, the spans, and the lines.
//
// Resources, Frames, Stacks and Contexts contain no equal elements, and a stack's parent precedes
// the stack. A profiler's trace obeys these rules, and a trace made by hand must obey them, too.
// For an id that is out of range, writers return an error and the other methods panic.
//
// A sample takes 48 bytes. The memory of stacks, frames and resources depends on the program's
// code, not on the number of samples. Methods only read, so goroutines may share an unchanged
// trace.
type Trace struct {
	Resources []string // the files of Frames
	Frames    []Frame
	Stacks    []Stack  // a trie: each stack is its parent and one more frame
	Samples   []Sample // by time

	Contexts []SampleContext
	// Origin is the wall-clock time of timestamp 0, or zero if the time is unknown.
	Origin time.Time
	// Interval is the sampling interval in use: see profiling.Profiler.SampleInterval.
	Interval time.Duration
	// Engine took the samples: EngineWindow if any sample lacks its own time.
	Engine Engine
	// Modules are the modules of the trace's functions, as in profiling.Options. Empty means all.
	Modules []string
	// Started and Stopped are the start and the stop of the profiler, since Origin.
	Started, Stopped time.Duration
	// CPUTime is the CPU time that the process used while the profiler ran. On Linux, CPUTime may
	// be up to twice the total Weight of the samples: the kernel's timers miss threads that run in
	// short bursts. CPUTime is 0 if the time is unknown, and for EngineWall.
	CPUTime time.Duration
	Stats   Stats

	places []place
}

// An Engine is a way to take samples. Package profiling says what each engine sees and costs.
type Engine string

// The engines.
const (
	EngineCPU    Engine = "cpu"    // running code, by CPU time, with the time of each sample
	EngineWindow Engine = "window" // running code, by CPU time, with the time of one-second windows
	EngineWall   Engine = "wall"   // all goroutines, running or waiting, by wall-clock time
)

// NoStack is the name of the function in place of a missing stack: in pprof, viewers and the page.
const NoStack = "[no stack]"

// A Frame is a function ("The ProfilerFrame Dictionary").
type Frame struct {
	Name       string // with the package's path
	ResourceID int    // index in Trace.Resources, or None
	Line       int    // of the function's first line, from 1; 0 if unknown
	Column     int    // from 1; 0 if unknown, as always in Go
}

// A Stack is a frame and the stack of its callers ("The ProfilerStack Dictionary").
type Stack struct {
	FrameID  int // index in Trace.Frames
	ParentID int // index in Trace.Stacks, less than the stack's own; None for the outermost frame
}

// A Sample is one observation of the running code ("The ProfilerSample Dictionary").
type Sample struct {
	Timestamp time.Duration // since the trace's Origin
	StackID   int           // index in Trace.Stacks of the innermost frame; None without a stack
	ContextID int           // index in Trace.Contexts; None without a span and labels
	Count     int           // number of goroutines or ticks, at least 1
	Weight    time.Duration // CPU or wall time of all Count together
	// place is the index of the innermost line in Trace.places, from 1; 0 if lines are unknown.
	place     int32
	Marker    Marker
	Truncated bool // the outer end of the stack is missing
}

// A SampleContext is the active span of a sample's goroutine, and the goroutine's labels.
type SampleContext struct {
	TraceID trace.TraceID // zero without a span, as are SpanID and SpanName
	SpanID  trace.SpanID
	// SpanName is the span's name at its end, such as "GET /products/{id}". It is the name at the
	// span's start if the span was still open, or if the engine knows labels as text only.
	SpanName string
	Labels   []Label // by key, each key once
}

// A Label is a profiler label, see runtime/pprof.Labels.
type Label struct{ Key, Value string }

// Stats are a profiler's counts. A selected trace has the counts of the whole trace.
type Stats struct {
	Samples   uint64 // recorded
	Lost      uint64 // taken by the engine, but dropped
	Truncated uint64 // samples with a cut stack
	Filtered  uint64 // samples without a stack because each frame was rejected
	// Gaps is the number of times in which the profiler took no samples, and GapTime their total
	// length. A gap is a time in which other code used the CPU profiler. Each change of the engine
	// or its interval also causes a gap of some milliseconds. Around a gap, each thread loses up to
	// a tick of the kernel's clock, uncounted.
	Gaps    int
	GapTime time.Duration
	// BusyGaps and BusyTime are the gaps in which other code of this process used the profiler.
	BusyGaps int
	BusyTime time.Duration
	// SampleCost is the time for which a sample stopped the sampled code: EngineCPU measures it. 0
	// is unknown.
	SampleCost time.Duration
}

// A Marker is the kind of work on a sample's stack (the markers extension of JS Self-Profiling).
//
//   - The engines of the CPU do not see goroutines that wait, and never report Idle.
//   - GC is the collector's own goroutines, and allocations that assist the collector. The wall
//     engine does not see the runtime's goroutines: there GC is assists only.
//   - Syscall is time in the kernel, if package syscall or the runtime's pollers made the call.
//   - C code is Other. C code that Go called is Ordinary, with the calling Go function.
type Marker uint8

// The markers.
const (
	Ordinary Marker = iota // ordinary code
	GC                     // garbage collection
	Syscall                // in a system call
	Idle                   // waiting
	Other                  // the scheduler, other languages, and unknown code
)

// String returns the specification's name of the marker, or "" for Ordinary.
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

// A place is a line of a stack. Stacks distinguish functions, as the specification says. Places
// also distinguish the lines in these functions.
type place struct {
	parent int32 // in Trace.places, from 1, less than the place's own; 0 if outermost
	stack  int32 // index in Trace.Stacks
	line   int32
}

// A Call is a function on a sample's stack, with its current line.
type Call struct {
	Name      string
	File      string // empty if unknown
	StartLine int    // first line of the function; 0 if unknown
	Line      int    // line that ran, or that called the next inner function; 0 if unknown
}

// Calls yields the stack of one of the trace's samples, the innermost call first, as in pprof.
// Lines are known in a profiler's trace, and in selections of such a trace.
func (t *Trace) Calls(s Sample) iter.Seq[Call] {
	return func(yield func(Call) bool) {
		for at, ok := t.Position(s); ok; at, ok = t.Caller(at) {
			if !yield(t.Call(at)) {
				return
			}
		}
	}
}

// A Position is a line of a function, with its callers, on a stack of a trace. Equal positions of
// one trace are the same calls: what a program computes for a position holds for all its samples.
type Position struct {
	stack int
	place int32 // of the stack; 0 if lines are unknown
}

// Position returns the position of a sample of t. ok is false for a sample without a stack.
func (t *Trace) Position(s Sample) (at Position, ok bool) {
	if int(s.place) > len(t.places) || s.place > 0 && int(t.places[s.place-1].stack) != s.StackID {
		s.place = 0 // the caller changed the sample's stack, or the sample is of another trace
	}
	return Position{s.StackID, s.place}, s.StackID >= 0
}

// Caller returns the position of the caller. ok is false at the outermost function.
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

package profile

import (
	"iter"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// None is the id in place of a missing stack, context, parent or resource.
const None = -1

// A Trace contains the samples of a profiler, with the stacks, functions and spans that the samples
// reference. See JS Self-Profiling, The ProfilerTrace Dictionary. The specification does not define
// the engine, the spans and the lines.
//
// A trace obeys these rules, including a trace that a program constructs without a profiler:
//
//   - Resources, Frames, Stacks and Contexts contain no equal elements.
//   - In Stacks, a parent precedes the children.
//   - All ids are in range. For an id out of range, WriteJSON and Pprof return an error. Other
//     methods panic.
//
// A sample occupies 48 bytes. The memory of stacks, frames and resources depends on the code of the
// program. This memory does not grow with the number of samples. Methods do not change the trace.
// Therefore several goroutines may share a trace while no goroutine changes the fields.
type Trace struct {
	Resources []string // the files of Frames
	Frames    []Frame
	Stacks    []Stack  // a trie: each stack adds one frame to the parent
	Samples   []Sample // in the order of time

	Contexts []SampleContext
	// Origin is the wall-clock time of timestamp 0. A zero Origin means that the time is unknown.
	Origin time.Time
	// Interval is the sampling interval in use. See profiling.Profiler.SampleInterval.
	Interval time.Duration
	// Engine is the engine that took the samples. Engine is EngineWindow if any sample contains
	// only the time of a window.
	Engine Engine
	// Modules lists modules as in profiling.Options. The trace contains only the functions of these
	// modules. An empty list means all modules.
	Modules []string
	// Started and Stopped are the start and the end of profiling, relative to Origin.
	Started, Stopped time.Duration
	// CPUTime is the CPU time of the process while the profiler ran. CPUTime is 0 if the time is
	// unknown, and for EngineWall. On Linux, CPUTime may be up to twice the total Weight of the
	// samples. The timers of the kernel miss threads that run in short bursts.
	CPUTime time.Duration
	Stats   Stats

	places []place
}

// An Engine is the name of a method of sampling. The documentation of package profiling compares
// the engines.
type Engine string

// The engines.
const (
	EngineCPU    Engine = "cpu"    // running code, by CPU time, with the time of each sample
	EngineWindow Engine = "window" // running code, by CPU time, with the time of one-second windows
	EngineWall   Engine = "wall"   // all goroutines, running or waiting, by wall-clock time
)

// NoStack is the name of the function in place of a missing stack: in pprof, viewers and the page.
const NoStack = "[no stack]"

// A Frame is a function on a stack. See JS Self-Profiling, The ProfilerFrame Dictionary.
type Frame struct {
	Name       string // function name with the package path
	ResourceID int    // index in Trace.Resources, or None
	Line       int    // first line of the function, from 1; 0 if unknown
	Column     int    // from 1; 0 if unknown, always 0 for Go functions
}

// A Stack is a frame, and a reference to the stack of the frame's callers. See JS Self-Profiling,
// The ProfilerStack Dictionary.
type Stack struct {
	FrameID  int // index in Trace.Frames
	ParentID int // index in Trace.Stacks, less than the stack's index; None for the outermost frame
}

// A Sample records a stack that the profiler observed, and the time of the observation. See JS
// Self-Profiling, The ProfilerSample Dictionary.
type Sample struct {
	Timestamp time.Duration // relative to Trace.Origin
	StackID   int           // index in Trace.Stacks of the innermost frame; None without a stack
	ContextID int           // index in Trace.Contexts; None without a span and labels
	Count     int           // number of goroutines or ticks, at least 1
	Weight    time.Duration // total CPU time or wall time of the Count goroutines or ticks
	// place is the index of the innermost line in Trace.places, from 1; 0 if lines are unknown.
	place     int32
	Marker    Marker
	Truncated bool // the outer end of the stack is missing
}

// A SampleContext contains the active span and the profiler labels of a sampled goroutine.
type SampleContext struct {
	TraceID trace.TraceID // without a span, the ids and the name are zero
	SpanID  trace.SpanID
	// SpanName is the name at the end of the span, such as "GET /products/{id}". If the span was
	// still open, SpanName is the name at the start. Engines that read labels only as text record
	// the name at the start, too.
	SpanName string
	Labels   []Label // sorted by key, without duplicate keys
}

// A Label is a profiler label of a goroutine. See runtime/pprof.Labels.
type Label struct{ Key, Value string }

// Stats counts the samples and the gaps of a profiler. [Trace.Select] copies the counts of the
// whole trace.
type Stats struct {
	Samples   uint64 // recorded samples
	Lost      uint64 // samples that the engine took and dropped
	Truncated uint64 // samples with a cut stack
	Filtered  uint64 // samples without a stack because all frames were rejected
	// Gaps counts the gaps. GapTime is the total length of the gaps. The profiler records no
	// samples in a gap. A gap occurs while other code uses the CPU profiler. A change of the engine
	// or of the engine's interval also causes a gap of some milliseconds. Around a gap, each thread
	// loses up to a tick of the kernel's clock. GapTime does not include this loss.
	Gaps    int
	GapTime time.Duration
	// BusyGaps counts the gaps in which other code in this process used the CPU profiler. BusyTime
	// is the total length of these gaps.
	BusyGaps int
	BusyTime time.Duration
	// SampleCost is the time for which one sample stops the sampled code. Only EngineCPU measures
	// SampleCost. 0 means unknown.
	SampleCost time.Duration
}

// A Marker is the kind of work that a sample shows, such as garbage collection. See the markers
// extension of JS Self-Profiling.
//
//   - GC is work of the garbage collector: in goroutines of the runtime, and in allocations that
//     assist the collector. EngineWall does not sample the goroutines of the runtime. With
//     EngineWall, GC is only the work of such allocations.
//   - Syscall is time in the kernel, if package syscall or a poller of the runtime made the call.
//   - Only EngineWall reports Idle. EngineCPU and EngineWindow do not sample waiting goroutines.
//   - Other is work without a known Go function, such as C code. If Go code called the C code, the
//     marker is Ordinary, and the stack contains the Go function.
type Marker uint8

// The markers.
const (
	Ordinary Marker = iota // ordinary code
	GC                     // garbage collection
	Syscall                // in a system call
	Idle                   // waiting
	Other                  // the scheduler, other languages, and unknown code
)

// String returns the specification's name of the marker. For Ordinary, String returns "".
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

// A Call is a function on the stack of a sample, with the line that the function executed.
type Call struct {
	Name      string
	File      string // empty if unknown
	StartLine int    // first line of the function; 0 if unknown
	Line      int    // line that ran or called the next inner function; 0 if unknown
}

// Calls yields the calls on the stack of the sample s of t. The innermost call is the first call,
// as in pprof. The calls contain line numbers if t is the trace of a profiler, or a selection of
// such a trace.
func (t *Trace) Calls(s Sample) iter.Seq[Call] {
	return func(yield func(Call) bool) {
		for at, ok := t.Position(s); ok; at, ok = t.Caller(at) {
			if !yield(t.Call(at)) {
				return
			}
		}
	}
}

// A Position identifies a call on a stack: the function, the line and all callers. Equal positions
// of one trace identify the same calls. Therefore a program may reuse a result for all samples with
// an equal position.
type Position struct {
	stack int
	place int32 // of the stack; 0 if lines are unknown
}

// Position returns the position of the innermost call of the sample s of t. ok is false if the
// sample contains no stack.
func (t *Trace) Position(s Sample) (at Position, ok bool) {
	if int(s.place) > len(t.places) || s.place > 0 && int(t.places[s.place-1].stack) != s.StackID {
		s.place = 0 // the caller changed the sample's stack, or the sample is of another trace
	}
	return Position{s.StackID, s.place}, s.StackID >= 0
}

// Caller returns the position of a caller. The parameter at is the position of the called function.
// ok is false if the called function is the outermost function of the stack.
func (t *Trace) Caller(at Position) (caller Position, ok bool) {
	if at.place > 0 {
		caller.place = t.places[at.place-1].parent
	}
	caller.stack = t.Stacks[at.stack].ParentID
	return caller, caller.stack >= 0
}

// Call returns the function and the line of a position.
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

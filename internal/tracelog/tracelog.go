// Package tracelog logs spans in the execution trace of package runtime/trace. A note is a log
// message of this package. [Parse] reads the notes of a trace.
//
//   - A local root is a task of the trace. One note reports the start, and one note reports the
//     end.
//   - A span may run on another goroutine than the parent span. Such a span has the same two notes.
//   - All other spans are inner spans, because the goroutine already works for the request. One
//     note reports the end of an inner span. A short inner span has no note: see [ShortestInner].
//
// Regions of runtime/trace belong to one goroutine, but spans do not.
package tracelog

import (
	"context"
	"encoding/hex"
	rt "runtime/trace"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/perfline/perfline/internal/cputime"
)

// The categories of messages. A message begins with the span's id in hexadecimal, followed by:
//
//   - root: the trace's id, and the name of a local root at its start. The name may change later.
//   - called: the trace's id, the id of the parent, and the name of a local root with a parent.
//   - start: the name of another span at its start, in the task of the local root.
//   - within: the trace's id, the id of the local root, and the name of another span at its start,
//     if the span's tracer makes tasks of its own.
//   - end: the name of a span at its end, after start or within.
//   - ended: the trace's id, and the name of a local root at its end, after root.
//   - answered: the trace's id, the id of the parent, and the name of a local root at its end,
//     after called.
//   - inner: the number of the goroutine on which an inner span started, its start and its end in
//     nanoseconds of the runtime's monotonic clock, and its name. The time of the message is too
//     inexact, because the tracer may be slow.
//
// A message of the category cpu holds the CPU time of the process and the time for which a limit
// stopped the process, both in nanoseconds, the limit in thousandths of a processor, and the time
// for which threads waited for a processor in nanoseconds. A message of the category beat is empty.
const (
	rootCategory   = "perfline.root"
	calledCategory = "perfline.called"
	startCategory  = "perfline.start"
	withinCategory = "perfline.within"
	endCategory    = "perfline.end"
	endedCategory  = "perfline.ended"
	answerCategory = "perfline.answered"
	innerCategory  = "perfline.inner"
	cpuCategory    = "perfline.cpu"
	beatCategory   = "perfline.beat"
)

// ShortestInner is the shortest inner span with a note. The time of a shorter span counts for its
// parent. A message takes about 0.6 µs, so that the notes of inner spans take less than a hundredth
// of a goroutine's time.
const ShortestInner = 100 * time.Microsecond

// Enabled reports whether the runtime records an execution trace. Callers log notes only if Enabled
// returns true. A note is slower than a mark, because the tracer records the stack.
func Enabled() bool { return rt.IsEnabled() }

// Root logs the start of a local root on this goroutine, in the task of ctx. The parent is a span
// of another process or of another request, or invalid.
func Root(ctx context.Context, span trace.SpanContext, parent trace.SpanID, name string) {
	if parent.IsValid() {
		writeRelated(ctx, calledCategory, span, parent, name)
		return
	}
	b := buffers.Get().(*[]byte)
	write(ctx, rootCategory, beginTrace(*b, span), name, b)
}

// RootEnd logs the end of a local root on the current goroutine. The arguments are like those of
// the earlier call of [Root], which may have preceded the execution trace. The name may differ.
func RootEnd(ctx context.Context, span trace.SpanContext, parent trace.SpanID, name string) {
	if parent.IsValid() {
		writeRelated(ctx, answerCategory, span, parent, name)
		return
	}
	b := buffers.Get().(*[]byte)
	write(ctx, endedCategory, beginTrace(*b, span), name, b)
}

// Start logs the start of a span on the current goroutine. Use [Root] for local roots, and [Inner]
// for inner spans.
func Start(ctx context.Context, id trace.SpanID, name string) {
	b := buffers.Get().(*[]byte)
	write(ctx, startCategory, begin(*b, id), name, b)
}

// Within logs the start of a span on the current goroutine, like [Start], for a tracer with
// contexts that lack the task of the local root.
func Within(root trace.SpanID, span trace.SpanContext, name string) {
	writeRelated(context.Background(), withinCategory, span, root, name)
}

// End logs the end of a span on the current goroutine. A note of [Start] or [Within] must precede
// the note of End.
func End(id trace.SpanID, name string) {
	b := buffers.Get().(*[]byte)
	write(context.Background(), endCategory, begin(*b, id), name, b)
}

// Inner logs an ended inner span. goroutine is the number of the goroutine that started the span.
// start and end are results of goruntime.Nanotime.
func Inner(id trace.SpanID, goroutine uint64, start, end int64, name string) {
	b := buffers.Get().(*[]byte)
	m := strconv.AppendUint(begin(*b, id), goroutine, 10)
	m = strconv.AppendInt(append(m, ' '), start, 10)
	m = strconv.AppendInt(append(m, ' '), end, 10)
	write(context.Background(), innerCategory, append(m, ' '), name, b)
}

// CPU logs the CPU time of the process. CPU logs nothing if the CPU time is unknown. The runtime
// may report a goroutine as running although no processor executes the goroutine. A reader of the
// trace compares two notes to find such times and the cause.
func CPU(u cputime.Usage) {
	if u.Process <= 0 {
		return
	}
	b := strconv.AppendInt(make([]byte, 0, 64), int64(u.Process), 10)
	b = strconv.AppendInt(append(b, ' '), int64(u.Throttled), 10)
	b = strconv.AppendInt(append(b, ' '), int64(u.Limit*limitUnit), 10)
	b = strconv.AppendInt(append(b, ' '), int64(u.Delayed), 10)
	rt.Log(context.Background(), cpuCategory, string(b))
}

// BeatInterval is the interval of the notes of [Beat]. A shorter interval finds shorter stops of
// the process. In an idle process, intervals of 10 ms took 1 % of a processor.
const BeatInterval = 20 * time.Millisecond

// Beat logs that the process runs. The caller sleeps for BeatInterval between two notes. If a trace
// has no event for clearly longer, the operating system did not run the process.
func Beat() { rt.Log(context.Background(), beatCategory, "") }

// limitUnit is the number for one processor in a message.
const limitUnit = 1000

// maxName bounds names, in bytes. The tracer cuts messages of more than 1024 bytes.
const maxName = 200

// Name shortens a name to 200 bytes for package runtime/trace. Callers must shorten names from
// other code. Go 1.26 ends the program if a task's name is 64 KiB long. Go also stores each
// different name in memory.
func Name(name string) string { return name[:min(len(name), maxName)] }

// buffers provides memory for messages, which the tracer copies during the call.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 16+3*(1+20)+1+maxName)) }}

func begin(b []byte, id trace.SpanID) []byte { return append(hex.AppendEncode(b[:0], id[:]), ' ') }

func beginTrace(b []byte, span trace.SpanContext) []byte {
	traceID := span.TraceID()
	return append(hex.AppendEncode(begin(b, span.SpanID()), traceID[:]), ' ')
}

// writeRelated logs a message of a span and of another span of the same trace.
func writeRelated(ctx context.Context, category string, span trace.SpanContext, other trace.SpanID,
	name string) {
	b := buffers.Get().(*[]byte)
	m := append(hex.AppendEncode(beginTrace(*b, span), other[:]), ' ')
	write(ctx, category, m, name, b)
}

// write logs a message and a name, and returns the memory to buffers.
func write(ctx context.Context, category string, message []byte, name string, buffer *[]byte) {
	message = append(message, Name(name)...)
	rt.Log(ctx, category, unsafe.String(&message[0], len(message)))
	*buffer = message
	buffers.Put(buffer)
}

// A Kind is the kind of a note, such as the start or the end of a span.
type Kind int

// The kinds of notes.
const (
	Other Kind = iota // a message of other code
	RootStart
	SpanStart
	SpanEnd
	InnerSpan
	CPUTime
	Running // of Beat
)

// A Note contains the data of a parsed message.
type Note struct {
	Kind    Kind
	SpanID  trace.SpanID
	TraceID trace.TraceID // of a local root, and if Root is valid
	Parent  trace.SpanID  // of a RootStart or the SpanEnd of a local root; invalid for none
	Root    trace.SpanID  // of a SpanStart; invalid if the task of the note has the root
	Name    string        // of a span; may end within a character
	CPU     cputime.Usage // of a CPUTime

	// The following fields belong to an InnerSpan. Goroutine is the number of the span's goroutine.
	// Start and End are times of the runtime's monotonic clock, in nanoseconds.
	Goroutine  uint64
	Start, End int64
}

// Parse parses a log message of an execution trace. The kind is Other if the message is malformed,
// or if other code wrote the message.
func Parse(category, message string) Note {
	n := Note{}
	switch category {
	case rootCategory, calledCategory:
		n.Kind = RootStart
	case startCategory, withinCategory:
		n.Kind = SpanStart
	case endCategory, endedCategory, answerCategory:
		n.Kind = SpanEnd
	case innerCategory:
		n.Kind = InnerSpan
	case cpuCategory:
		return parseCPU(message)
	case beatCategory:
		return Note{Kind: Running}
	default:
		return Note{}
	}
	p := parser{rest: message}
	n.SpanID = word(&p, trace.SpanIDFromHex)
	switch category {
	case rootCategory, endedCategory:
		n.TraceID = word(&p, trace.TraceIDFromHex)
	case calledCategory, answerCategory:
		n.TraceID, n.Parent = word(&p, trace.TraceIDFromHex), word(&p, trace.SpanIDFromHex)
	case withinCategory:
		n.TraceID, n.Root = word(&p, trace.TraceIDFromHex), word(&p, trace.SpanIDFromHex)
	case innerCategory:
		n.Goroutine = uint64(word(&p, number))
		n.Start, n.End = word(&p, number), word(&p, number)
		p.failed = p.failed || n.End < n.Start
	default:
	}
	if n.Name = p.rest; p.failed {
		return Note{}
	}
	return n
}

func parseCPU(message string) Note {
	p := parser{rest: message + " "}
	u := cputime.Usage{Process: time.Duration(word(&p, number))}
	if p.rest != "" { // else these are unknown
		u.Throttled = time.Duration(word(&p, number))
		u.Limit = float64(word(&p, number)) / limitUnit
		u.Delayed = time.Duration(word(&p, number))
	}
	if p.failed || p.rest != "" || u.Process == 0 {
		return Note{}
	}
	return Note{Kind: CPUTime, CPU: u}
}

// A parser reads the words of a message. A space ends each word, and the rest is a name.
type parser struct {
	rest   string
	failed bool
}

func word[T any](p *parser, parse func(string) (T, error)) (value T) {
	text, rest, ok := strings.Cut(p.rest, " ")
	p.rest = rest
	value, err := parse(text)
	p.failed = p.failed || !ok || err != nil
	return value
}

func number(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err
}

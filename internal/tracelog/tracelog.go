// Package tracelog notes spans in the execution trace of package runtime/trace, while one is
// written, and reads such notes. A local root is a task, which its tracer makes. It has a log
// message at its start and one at its end. A span that starts on another goroutine than its parent
// has both, too. All other spans are inner spans: the goroutine works for their request anyway.
// They have one message, at their end, or none if they are short. Regions would not do: they belong
// to one goroutine, and spans do not.
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

// The categories of messages. A message has the span's id in hexadecimal, then:
//
//   - root: the trace's id, and the name of a local root that starts. The name may change before
//     the end.
//   - start: the name of another span that starts.
//   - end: the name of a span that ends, after root or start.
//   - inner: the number of the goroutine on which an inner span started, its start and its end in
//     nanoseconds of the runtime's monotonic clock, and its name. The time of the message would not
//     do: the tracer may take long for it.
//
// A message of the category cpu has the CPU time of the process and the time for which a limit
// stopped the process, both in nanoseconds, the limit in thousandths of a processor, and the time
// for which threads waited for a processor in nanoseconds.
const (
	rootCategory  = "perfline.root"
	startCategory = "perfline.start"
	endCategory   = "perfline.end"
	innerCategory = "perfline.inner"
	cpuCategory   = "perfline.cpu"
)

// ShortestInner is how long an inner span must take to be noted. The time of a shorter one counts
// for the span above. A message takes about 0.6 µs, so that the notes of inner spans take less than
// a hundredth of a goroutine's time.
const ShortestInner = 100 * time.Microsecond

// Enabled reports whether an execution trace is being written. Other functions are called only
// then: each note takes longer than a mark, because the tracer adds the stack.
func Enabled() bool { return rt.IsEnabled() }

// Root notes that a local root starts on this goroutine, in the task of ctx.
func Root(ctx context.Context, span trace.SpanContext, name string) {
	id, traceID := span.SpanID(), span.TraceID()
	b := buffers.Get().(*[]byte)
	*b = hex.AppendEncode(begin(*b, id), traceID[:])
	write(ctx, rootCategory, append(*b, ' '), name, b)
}

// Start notes that a span starts on this goroutine.
func Start(ctx context.Context, id trace.SpanID, name string) {
	b := buffers.Get().(*[]byte)
	write(ctx, startCategory, begin(*b, id), name, b)
}

// End notes that a span ends on this goroutine.
func End(id trace.SpanID, name string) {
	b := buffers.Get().(*[]byte)
	write(context.Background(), endCategory, begin(*b, id), name, b)
}

// Inner notes a span that has ended. It started on the goroutine with this number. Start and end
// are times of goruntime.Nanotime.
func Inner(id trace.SpanID, goroutine uint64, start, end int64, name string) {
	b := buffers.Get().(*[]byte)
	m := strconv.AppendUint(begin(*b, id), goroutine, 10)
	m = strconv.AppendInt(append(m, ' '), start, 10)
	m = strconv.AppendInt(append(m, ' '), end, 10)
	write(context.Background(), innerCategory, append(m, ' '), name, b)
}

// CPU notes the CPU time that the process has used so far. From two such notes, a reader of the
// trace learns whether goroutines that the runtime ran were really on a processor, and why not. A
// system that does not tell has no CPU time: nothing is noted.
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

// limitUnit is a processor in a message.
const limitUnit = 1000

// maxName is the length at which names are cut. The tracer cuts messages of more than 1024 bytes
// anyway.
const maxName = 200

// Name returns a name as the trace has it. A name from outside must not be longer in any call of
// package trace: Go 1.26 ends the program if a task's name has 64 KiB, and keeps each different one
// in memory.
func Name(name string) string { return name[:min(len(name), maxName)] }

// buffers are the memory of messages, which the tracer copies during the call.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 16+3*(1+20)+1+maxName)) }}

func begin(b []byte, id trace.SpanID) []byte { return append(hex.AppendEncode(b[:0], id[:]), ' ') }

// write writes a message with a name at its end. Its memory goes back to the buffers.
func write(ctx context.Context, category string, message []byte, name string, buffer *[]byte) {
	message = append(message, Name(name)...)
	rt.Log(ctx, category, unsafe.String(&message[0], len(message)))
	*buffer = message
	buffers.Put(buffer)
}

// A Kind says what a note says.
type Kind int

// The kinds of notes.
const (
	Other Kind = iota // a message of other code
	RootStart
	SpanStart
	SpanEnd
	InnerSpan
	CPUTime
)

// A Note is a message that was read.
type Note struct {
	Kind    Kind
	SpanID  trace.SpanID
	TraceID trace.TraceID // of a RootStart
	Name    string        // of a span; it may be cut within a character
	CPU     cputime.Usage // of a CPUTime

	// Of an InnerSpan: the number of its goroutine, and times of the runtime's monotonic clock in
	// nanoseconds.
	Goroutine  uint64
	Start, End int64
}

// Parse reads a log message of an execution trace. Kind is Other if it is none of ours, or
// malformed.
func Parse(category, message string) Note {
	n := Note{}
	switch category {
	case rootCategory:
		n.Kind = RootStart
	case startCategory:
		n.Kind = SpanStart
	case endCategory:
		n.Kind = SpanEnd
	case innerCategory:
		n.Kind = InnerSpan
	case cpuCategory:
		return parseCPU(message)
	default:
		return Note{}
	}
	p := parser{rest: message}
	n.SpanID = parsed(&p, trace.SpanIDFromHex)
	switch n.Kind {
	case RootStart:
		n.TraceID = parsed(&p, trace.TraceIDFromHex)
	case InnerSpan:
		n.Goroutine = parsed(&p,
			func(s string) (uint64, error) { return strconv.ParseUint(s, 10, 64) })
		n.Start, n.End = parsed(&p, nanoseconds), parsed(&p, nanoseconds)
		p.failed = p.failed || n.Start < 0 || n.End < n.Start
	default:
	}
	if n.Name = p.rest; p.failed {
		return Note{}
	}
	return n
}

func parseCPU(message string) Note {
	p := parser{rest: message + " "}
	number := func(s string) (int64, error) {
		n, err := strconv.ParseUint(s, 10, 63)
		return int64(n), err
	}
	u := cputime.Usage{Process: time.Duration(parsed(&p, number))}
	if p.rest != "" { // else the rest was not known
		u.Throttled = time.Duration(parsed(&p, number))
		u.Limit = float64(parsed(&p, number)) / limitUnit
		u.Delayed = time.Duration(parsed(&p, number))
	}
	if p.failed || p.rest != "" || u.Process == 0 {
		return Note{}
	}
	return Note{Kind: CPUTime, CPU: u}
}

// A parser reads the words of a message. Each has a space behind it, and a name is the rest.
type parser struct {
	rest   string
	failed bool
}

// parsed reads the next word.
func parsed[T any](p *parser, parse func(string) (T, error)) (value T) {
	word, rest, ok := strings.Cut(p.rest, " ")
	p.rest = rest
	value, err := parse(word)
	p.failed = p.failed || !ok || err != nil
	return value
}

func nanoseconds(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

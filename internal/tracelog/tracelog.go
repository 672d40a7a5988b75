// Package tracelog notes spans in the execution trace of package runtime/trace, while one is written, and reads such notes.
// A local root is a task, which its tracer makes. Each span has a log message at its start and one at its end. Regions would not
// do: they belong to one goroutine, and spans do not.
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
)

// The categories of messages. A message has the span's id in hexadecimal, then:
//
//   - root: the trace's id, and the name of a local root that starts. The name may change before the end.
//   - start: the name of another span that starts.
//   - end: the name of a span that ends.
//
// A message of the category cpu has only the CPU time of the process, in nanoseconds.
const (
	rootCategory  = "perfline.root"
	startCategory = "perfline.start"
	endCategory   = "perfline.end"
	cpuCategory   = "perfline.cpu"
)

// Enabled reports whether an execution trace is being written. Other functions are called only then: each note takes
// longer than a mark, because the tracer adds the stack.
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

// CPU notes the CPU time that the process has used so far, in user and system mode. From two such notes, a reader of the
// trace learns whether goroutines that the runtime ran were really on a processor. 0 is a system that does not tell: nothing
// is noted.
func CPU(used time.Duration) {
	if used <= 0 {
		return
	}
	rt.Log(context.Background(), cpuCategory, strconv.FormatInt(int64(used), 10))
}

// maxName is the length at which names are cut. The tracer cuts messages of more than 1024 bytes anyway.
const maxName = 200

// buffers are the memory of messages, which the tracer copies during the call.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 16+1+32+1+maxName)) }}

func begin(b []byte, id trace.SpanID) []byte { return append(hex.AppendEncode(b[:0], id[:]), ' ') }

// write writes a message with a name at its end. Its memory goes back to the buffers.
func write(ctx context.Context, category string, message []byte, name string, buffer *[]byte) {
	message = append(message, name[:min(len(name), maxName)]...)
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
	CPUTime
)

// A Note is a message that was read.
type Note struct {
	Kind    Kind
	SpanID  trace.SpanID
	TraceID trace.TraceID // of a RootStart
	Name    string        // of a span; it may be cut within a character
	CPU     time.Duration // of a CPUTime
}

// Parse reads a log message of an execution trace. Kind is Other if it is none of ours, or malformed.
func Parse(category, message string) (n Note) {
	var kind Kind
	switch category {
	case rootCategory:
		kind = RootStart
	case startCategory:
		kind = SpanStart
	case endCategory:
		kind = SpanEnd
	case cpuCategory:
		used, err := strconv.ParseInt(message, 10, 64)
		if err != nil || used <= 0 {
			return Note{}
		}
		return Note{Kind: CPUTime, CPU: time.Duration(used)}
	default:
		return Note{}
	}
	id, rest, ok := strings.Cut(message, " ")
	span, err := trace.SpanIDFromHex(id)
	if !ok || err != nil {
		return Note{}
	}
	if kind != RootStart {
		return Note{Kind: kind, SpanID: span, Name: rest}
	}
	id, name, ok := strings.Cut(rest, " ")
	traceID, err := trace.TraceIDFromHex(id)
	if !ok || err != nil {
		return Note{}
	}
	return Note{Kind: kind, SpanID: span, TraceID: traceID, Name: name}
}
